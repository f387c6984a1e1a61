"""Whatever metadata are, they come back, or are refused before anything is stored."""

import json

from hypothesis import given
from hypothesis import strategies as st

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.filters import identity, is_number, kind
from langchain_ragstore.metadata import decode, encode, normalised
from records import same
from strategies import metadatas, scalars, values


@given(metadatas)
def test_what_is_encoded_comes_back(metadata):
    text = encode(metadata)
    assert same(decode(text), metadata)
    assert encode(decode(text)) == text


@given(metadatas)
def test_the_text_is_json_that_sqlite_keeps(metadata):
    text = encode(metadata)
    text.encode()
    assert "\x00" not in text
    assert list(json.loads(text)) == list(metadata)


@given(values)
def test_normalised_once_is_normalised(value):
    once = normalised(value)
    assert same(once, value)
    assert same(normalised(once), once)


@given(scalars)
def test_a_stored_value_is_the_same_to_a_filter(value):
    back = normalised(value)
    assert kind(back) == kind(value)
    if kind(value) != "number" or is_number(value):
        assert identity(back) == identity(value)
    else:
        assert identity(back) != identity(back)


@given(metadatas)
def test_nothing_is_aliased(metadata):
    text = encode(metadata)
    first, second = decode(text), decode(text)
    scramble(first)
    assert same(second, metadata)


def scramble(value):
    inner = list(value.values()) if isinstance(value, dict) else list(value)
    for item in inner:
        if isinstance(item, (dict, list, tuple)):
            scramble(item)
    if not isinstance(value, tuple):
        value.clear()


bad = st.sampled_from([{1}, object(), 1j, frozenset(), range(3)])


@given(metadatas, bad, st.integers(0, 2))
def test_what_cannot_come_back_is_named(metadata, value, depth):
    for _ in range(depth):
        value = [value]
    try:
        encode({**metadata, "the culprit": value})
    except InvalidInputError as error:
        assert "'the culprit'" in str(error)
    else:
        raise AssertionError(value)
