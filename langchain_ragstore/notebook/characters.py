"""Text that can be shown anywhere, with its invisible characters made visible."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

CODED: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
)
"""What must not stand in HTML or on a terminal as it is, for a regular expression's set:
controls, which HTML drops or changes and terminals obey; marks of direction, which would
rearrange what stands beside the text; lone surrogates, which UTF-8 has no bytes for."""

_GLYPHS: Final = {
    "\n": "↵",
    "\t": "→",
    "\u00a0": "⍽",
    "\u00ad": "‐",
    "\u200b": "¦",
    "\u2060": "¦",
    "\u3000": "□",
    **dict.fromkeys("\u1680\u202f\u205f", "·"),
    **dict.fromkeys(map(chr, range(0x2000, 0x200B)), "·"),
}
"""What is drawn before a character that would not be seen. ZWJ, ZWNJ and variation
selectors are not among them: they shape their neighbours, and would be torn from them."""

_NAMES: Final = {
    "\x00": "NUL",
    "\x0b": "VT",
    "\x0c": "FF",
    "\r": "CR",
    "\x1b": "ESC",
    "\x85": "NEL",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u2028": "LS",
    "\u2029": "PS",
    "\ufeff": "BOM",
}

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
_SPECIAL: Final = re.compile(f"[&<>\"'{''.join(_GLYPHS)}{CODED}]")
_CODED: Final = re.compile(f"[{CODED}]")
_UNSAFE: Final = re.compile(f"[&<>\"'{CODED}]")


def to_html(text: str, prefix: str) -> str:
    """Text as HTML whose own text is the source, character for character.

    What is drawn for an invisible character comes from the style sheet; only one that HTML
    cannot hold is replaced, by an element with its number in hexadecimal as `data-code`.

    Args:
        text: Any text.
        prefix: What the names of classes begin with.
    """

    def shown(match: re.Match[str]) -> str:
        character = match[0]
        if entity := _ENTITIES.get(character):
            return entity
        point = f"{ord(character):04X}"
        if glyph := _GLYPHS.get(character):
            title = "" if character in "\n\t" else f' title="U+{point}"'
            return f'<span class="{prefix}i" data-g="{glyph}"{title}>{character}</span>'
        name = _NAMES.get(character, point)
        return f'<bdi class="{prefix}x" data-code="{point}" title="U+{point}">{name}</bdi>'

    return _SPECIAL.sub(shown, text)


def attribute(text: str) -> str:
    """Text for an attribute or a label: escaped, what cannot be shown as U+…."""
    return _UNSAFE.sub(lambda m: _ENTITIES.get(m[0]) or f"U+{ord(m[0]):04X}", text)


def to_terminal(text: str) -> str:
    r"""Text for a terminal: what it would obey or cannot encode, as \x1b or \u202e."""
    return _CODED.sub(lambda m: m[0].encode("unicode_escape").decode("ascii"), text)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes.

    Two for a wide character, none for a mark that combines or only shapes its neighbours.

    Example:
        >>> columns("tea"), columns("緑茶"), columns("e\u0301")
        (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fitted(text: str, width: int) -> str:
    """Text in exactly so many columns: cut with … or filled up with blanks."""
    if columns(text) > width:
        kept, room = [], width - 1
        for character in text:
            room -= _columns(character)
            if room < 0:
                break
            kept.append(character)
        text = "".join(kept) + "…"
    return text + " " * (width - columns(text))
