"""Names of users' collections, such that no two can be confused."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from langchain_ragstore.config import MAX_USER_ID
from langchain_ragstore.errors import InvalidInputError

Kinds: TypeAlias = Iterable[str] | str | Callable[[str], Iterable[str] | str]
"""Some kinds, one, or a route: a function of the query that names them."""

_MARKS: Final = "-_.@+|:=~"
"""What ids have beside letters and digits, in addresses, UUIDs and providers' subjects."""

_ALLOWED: Final = f"letters and digits of any script and {' '.join(_MARKS)}"


@dataclass(frozen=True, slots=True)
class Naming:
    """`user_{user_id}_{kind}`, or `{kind}` for what belongs to no user.

    Different pairs have different names: no kind has a `_`, so the kind is what follows
    the last one, and a name without any is a kind alone. Ids are neither folded nor
    normalised, which would make two users one; an id that is not in normal form is
    refused, since the same user could come with another spelling and find nothing.

    Attributes:
        kinds: The kinds that there are.

    Raises:
        InvalidInputError: A kind that cannot be one.

    Example:
        ```python
        from langchain_ragstore.collection_names import Naming

        naming = Naming(("default", "important"))
        assert naming.name("default", None) == "default"
        assert naming.name("default", "ann_important") == "user_ann_important_default"
        assert naming.split("user_ann_important_default") == ("default", "ann_important")
        ```
    """

    kinds: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.kinds:
            raise InvalidInputError("kinds must name at least one kind of collection")
        for kind in self.kinds:
            given: object = kind
            if not isinstance(given, str) or "_" in given or _problem(_plain(given)):
                raise InvalidInputError(
                    f"a kind is a word without '_', such as 'code' or 'meeting-notes', of "
                    f"at most {MAX_USER_ID} characters in normal form: {_ALLOWED} but _; "
                    f"got {kind!r}"
                )
        object.__setattr__(self, "kinds", tuple(map(_plain, self.kinds)))
        if len(set(self.kinds)) < len(self.kinds):
            raise InvalidInputError(f"kinds must differ, got {self.kinds!r}")

    def name(self, kind: str, user_id: str | None) -> str:
        """The name of a collection.

        Raises:
            InvalidInputError: An unknown kind, or an id that no user can have here.
        """
        kind = self.kind(kind)
        return kind if user_id is None else f"user_{checked_user(user_id)}_{kind}"

    def split(self, name: str) -> tuple[str, str | None]:
        """The kind and user of a name that `name` made."""
        user, _, kind = name.rpartition("_")
        return kind, user.removeprefix("user_") if user else None

    def kind(self, kind: str) -> str:
        """A kind, if it is one.

        Raises:
            InvalidInputError: It is none.
        """
        given: object = kind
        if not isinstance(given, str) or _plain(given) not in self.kinds:
            raise InvalidInputError(
                f"there is no kind {kind!r}; there are {', '.join(self.kinds)} (others are "
                "named when the manager is made: CollectionManager(..., kinds=[...]))"
            )
        return _plain(kind)

    def some(self, kinds: Kinds, query: str = "") -> tuple[str, ...]:
        """Kinds, each once; a bare string is one.

        Args:
            kinds: Which; only a route may name none.
            query: What a route is asked.

        Raises:
            InvalidInputError: There is none, or one is unknown.
        """
        chosen = tuple(dict.fromkeys(map(self.kind, named(kinds, query))))
        if not chosen and not callable(kinds):
            raise InvalidInputError(
                f"kinds must name at least one of {', '.join(self.kinds)}, got {kinds!r}"
            )
        return chosen


def named(kinds: Kinds, query: str) -> tuple[str, ...]:
    """What names some kinds, or a route for a query, as it is.

    Raises:
        InvalidInputError: It cannot name any.
    """
    given = kinds(query) if callable(kinds) else kinds
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise InvalidInputError(
            f"kinds are names, such as ['default', 'code'], or a function of the query "
            f"that gives some; got {given!r}"
        )
    return tuple(given)


def checked_user(user_id: str) -> str:
    """A user's id.

    Raises:
        InvalidInputError: It cannot be one; the message says why and what can.
    """
    if not isinstance(user_id, str):
        raise InvalidInputError(
            f"user_id is a string, got {user_id!r} ({type(user_id).__name__}); write "
            "str(...) where 1, True and '1' are one user to you, or None for no user"
        )
    problem = _problem(_plain(user_id))
    if problem:
        shown = user_id if len(user_id) <= MAX_USER_ID else f"{user_id[:40]}…"
        raise InvalidInputError(
            f"user_id {shown!r} {problem}; it takes 1 to {MAX_USER_ID} characters in "
            f"Unicode's form NFKC: {_ALLOWED}. For ids of another kind use a digest: "
            "hashlib.sha256(user_id.encode()).hexdigest()"
        )
    return _plain(user_id)


def _plain(text: str) -> str:
    """The characters of a string, whatever its class says when it is formatted.

    In a name, a member of `class User(str, Enum)` would be `User.ANN`.
    """
    return str.__str__(text)


def _problem(text: str) -> str | None:
    """What keeps a text from being part of a name; None if nothing does."""
    if not text:
        return "is empty"
    if len(text) > MAX_USER_ID:
        return f"has {len(text)} characters"
    for character in text:
        letter = character.isalnum() or unicodedata.category(character)[0] == "M"
        if not letter and character not in _MARKS:
            return f"has a {character!r}"
    if not unicodedata.is_normalized("NFKC", text):
        return f"is not in normal form, which is {unicodedata.normalize('NFKC', text)!r}"
    return None
