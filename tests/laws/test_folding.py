"""Laws of folding many texts at once: what a character folds to wherever it stands."""

import sys
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from langchain_ragstore.text.folding import BASIC, IN_CONTEXT, folded_alone, normalize

alone = [code for code in range(BASIC) if folded_alone()[code] != IN_CONTEXT]


@given(st.text(st.sampled_from(alone).map(chr), max_size=30))
@example("ＡＢＣ ｱｲｳ É\ud800\0")
def test_such_texts_fold_by_character(text):
    folded = folded_alone()[[ord(char) for char in text]]
    assert "".join(map(chr, folded.tolist())) == normalize(text)


def test_what_joins_with_a_character_before_it_is_left_to_the_context():
    """Second halves of all compositions, and the letters that make a syllable of Hangul."""
    second = {
        int(parts[1], 16)
        for code in range(sys.maxunicode + 1)
        if len(parts := unicodedata.decomposition(chr(code)).split()) == 2
        and not parts[0].startswith("<")
    }
    moved = {code for code in range(BASIC) if unicodedata.combining(chr(code))}
    letters = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    assert letters < {
        ord(c)
        for c in unicodedata.normalize("NFD", "".join(map(chr, range(0xAC00, 0xD7A4))))
    }
    joining = (second | moved | letters) & set(range(BASIC))
    assert len(joining) > 500
    table = folded_alone()
    assert all(table[code] == IN_CONTEXT for code in joining)
    assert not joining & set(table[alone].tolist())


def test_most_characters_are_folded_alone():
    assert len(alone) > 62_000
    assert folded_alone()[BASIC] == IN_CONTEXT
    for char, folded in {"東": "東", "한": "한", "Ａ": "a", "É": "é", "～": "~"}.items():
        assert folded_alone()[ord(char)] == ord(folded)
