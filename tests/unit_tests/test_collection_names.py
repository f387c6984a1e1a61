"""Names of collections: who may have one, and that no two users share one."""

import unicodedata
from enum import Enum

import pytest

from langchain_ragstore import CollectionManager, HashingEmbeddings, InvalidInputError
from langchain_ragstore.collection_names import Naming

NAMING = Naming(("default", "important", "code", "meeting"))


def test_names():
    assert NAMING.name("default", None) == "default"
    assert NAMING.name("important", "ann") == "user_ann_important"
    assert NAMING.split("user_ann_important") == ("important", "ann")
    assert NAMING.split("code") == ("code", None)


ALLOWED = [
    *("1", "10", "user_1", "user_", "_", "__", "ann", "Ann", "ANN", "ann_default", "ann_"),
    *("default", "important", "ann_important", "ann_important_default", "user_ann_default"),
    *(
        "ann@example.com",
        "auth0|5f7c8ec7",
        "google-oauth2|1",
        "a+b",
        "urn:x:1",
        "a.b",
        "..",
    ),
    *("王芳", "山田太郎", "김철수", "й", "हिन्दी", "ア", "é", "x" * 255),
    *("аnn", "αnn", "annı", "0nn", "Onn"),  # look-alikes are other people
]


@pytest.mark.parametrize("kind", NAMING.kinds)
def test_every_user_has_names_of_his_own(kind):
    names = [NAMING.name(kind, user) for user in ALLOWED]
    assert len(set(names)) == len(ALLOWED)
    assert [NAMING.split(name) for name in names] == [(kind, user) for user in ALLOWED]


REFUSED = [
    *("", " ", "a b", " ann", "ann ", "a\tb", "a\nb", "\0", "ann\0", "\x7f", "\ud800"),
    *(
        "a/b",
        "../bob",
        "a\\b",
        "C:\\x",
        "~/x",
        "a'b",
        "'; DROP TABLE x; --",
        'a"b',
        "a;b",
        "%",
        "*",
    ),
    *(
        "a\u200bb",
        "\u202eann",
        "a\u00adb",
        "\ufeffann",
        "\u2028",
        "\u00a0",
        "😀",
        "\ue000",
        "\U0010ffff",
    ),
    *("e\u0301", "ﬁn", "ａｎｎ", "ann²", "①", "Ⅳ", "\u1100\u1161", "\u212a"),
    "x" * 256,
]


@pytest.mark.parametrize("user", REFUSED, ids=ascii)
def test_what_is_no_id_is_refused(user):
    with pytest.raises(InvalidInputError, match=r"user_id .* it takes 1 to 255") as caught:
        NAMING.name("default", user)
    assert "sha256" in str(caught.value)
    assert len(str(caught.value)) < 500
    str(caught.value).encode()  # can be printed


@pytest.mark.parametrize("user", [1, True, b"ann", 1.0, ["ann"], ("ann",)], ids=ascii)
def test_what_is_no_string_is_refused(user):
    with pytest.raises(InvalidInputError, match="user_id is a string, got"):
        NAMING.name("default", user)


class Role(str, Enum):  # noqa: UP042 - the kind of enum that is another word in an f-string
    ANN = "ann"
    CODE = "code"
    DEFAULT = "default"


class Disguised(str):
    """Looks like one id and is written as another."""

    __slots__ = ()

    def __str__(self):
        return "bob"

    def __format__(self, spec):
        return "bob"


def test_a_string_is_its_characters_whatever_its_class_says():
    assert NAMING.name("default", Role.ANN) == "user_ann_default"
    assert NAMING.name("default", Disguised("ann")) == "user_ann_default"
    assert NAMING.name(Role.CODE, "ann") == "user_ann_code"
    assert NAMING.some([Role.CODE, "code", Role.DEFAULT]) == ("code", "default")
    assert NAMING.some(Role.CODE) == ("code",)
    naming = Naming((Role.CODE, Role.DEFAULT))
    assert naming.kinds == ("code", "default")
    assert [type(kind) for kind in naming.kinds] == [str, str]
    weights = {Role.CODE: 3.0}
    with CollectionManager(":memory:", kinds=[Role.CODE], kind_weights=weights) as manager:
        manager.get(Role.CODE, user_id=Role.ANN).add_texts(["tea"])
        keywords = {"kinds": Role.CODE, "with_scores": True}
        ((found, _),) = manager.retrieve("tea", user_id="ann", **keywords)
    assert found.metadata["ragstore"]["weight"] == 3.0
    assert found.metadata["ragstore"]["collection"] == "user_ann_code"


def test_errors_say_what_is_wrong():
    with pytest.raises(InvalidInputError, match="user_id 'a/b' has a '/'"):
        NAMING.name("default", "a/b")
    with pytest.raises(InvalidInputError, match="is not in normal form, which is 'ann'"):
        NAMING.name("default", "ａｎｎ")
    with pytest.raises(InvalidInputError, match="has 256 characters"):
        NAMING.name("default", "x" * 256)
    with pytest.raises(InvalidInputError, match="no kind 'secret'; there are default, imp"):
        NAMING.name("secret", "ann")


def test_a_normal_form_is_one_users():
    for user in ALLOWED:
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            other = unicodedata.normalize(form, user)
            if other != user:
                with pytest.raises(InvalidInputError):
                    NAMING.name("default", other)


@pytest.mark.parametrize(
    "kinds",
    [
        (),
        ("a_b",),
        ("",),
        ("a", "a"),
        (1,),
        (None,),
        ("a b",),
        ("a/b",),
        ("x" * 256,),
        ("_",),
    ],
    ids=ascii,
)
def test_kinds_that_cannot_be(kinds):
    with pytest.raises(InvalidInputError, match="kind"):
        Naming(kinds)


def test_some_kinds():
    assert NAMING.some("code") == ("code",)
    assert NAMING.some(kind for kind in ["code", "default", "code"]) == ("code", "default")
    with pytest.raises(InvalidInputError, match="at least one of default, important"):
        NAMING.some([])
    with pytest.raises(InvalidInputError, match="no kind 'c'"):
        NAMING.some("c")
    for wrong in (None, 3):
        with pytest.raises(InvalidInputError, match="kinds are names, such as"):
            NAMING.some(wrong)
    for wrong in ([["code"]], [None], [3]):
        with pytest.raises(InvalidInputError, match="no kind"):
            NAMING.some(wrong)


def test_a_route_names_kinds_of_a_query_and_may_name_none():
    asked = []

    def route(query):
        asked.append(query)
        return {"a": "code", "b": ["meeting", "code", "meeting"], "c": []}[query]

    assert NAMING.some(route, "a") == ("code",)
    assert NAMING.some(route, "b") == ("meeting", "code")
    assert NAMING.some(route, "c") == ()
    assert asked == ["a", "b", "c"]
    with pytest.raises(InvalidInputError, match="no kind 'x'"):
        NAMING.some(lambda _query: "x", "a")
    with pytest.raises(InvalidInputError, match=r"kinds are names, such as .* got None"):
        NAMING.some(lambda _query: None, "a")


def test_users_do_not_see_each_other(tmp_path):
    """All of them in one file, with equal ids and texts."""
    with CollectionManager(tmp_path / "rag.db", HashingEmbeddings(16)) as manager:
        for at, user in enumerate(ALLOWED):
            for kind in ("default", "important"):
                text = f"{at} {kind}"
                manager.get(kind, user_id=user).add_texts(
                    [text], [{"of": at}], ids=["same"]
                )
        for at, user in enumerate(ALLOWED):
            found = manager.retrieve("default important", 99, user_id=user)
            assert {d.metadata["of"] for d, _ in found} == {at}
            assert {d.page_content for d, _ in found} == {
                f"{at} default",
                f"{at} important",
            }
            store = manager.get(user_id=user)
            assert [d.page_content for d in store.get()] == [f"{at} default"]
            assert store.collections() == [store.collection_name]
        assert manager.retrieve("default", 99) == []
        manager.get(user_id="ann").clear()
        assert manager.get(user_id="ann").collections() == []
        assert (
            len(manager.get(user_id="Ann"))
            == len(manager.get("important", user_id="ann"))
            == 1
        )


def test_what_else_is_in_the_file_is_each_users_own():
    with CollectionManager(":memory:", kinds=("default", "ragstore")) as manager:
        ann, bob = (manager.get(user_id=user) for user in ("ann", "bob"))
        ann.byte_store().mset([("key", b"ann's")])
        assert bob.byte_store().mget(["key"]) == [None]
        assert list(bob.byte_store().yield_keys()) == []
        assert manager.get(user_id="ann").byte_store().mget(["key"]) == [b"ann's"]
        ann.add_texts(["x"], ids=["x"])
        for namespace in (None, "own", "user_bob_default"):
            ann.record_manager(namespace).update(["x"])
            assert bob.record_manager(namespace).list_keys() == []
            assert ann.record_manager(namespace).list_keys() == ["x"]
        # Not even a name that looks like another's default is that one.
        odd = manager.get("ragstore")
        assert odd.record_manager("user_ann_default").list_keys() == []
        with pytest.raises(InvalidInputError, match="namespace must be a non-empty string"):
            ann.byte_store("")
