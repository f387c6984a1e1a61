"""Where a text may be cut: classes of breaks, and units that a cut must not tear.

A break is a position between two code points. White space belongs to what stands before
it, as sentence marks and closing quotes do; the indentation of a line belongs to the line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol, TypeAlias

from langchain_ragstore.text import graphemes
from langchain_ragstore.text.windows import backwards, forwards


class Breaks(Protocol):
    """The breaks of one class in one text; each is a border of grapheme clusters."""

    def last(self, start: int, end: int) -> int | None:
        """The last break in `(start, end]`."""

    def first(self, start: int, end: int) -> int | None:
        """The first break in `(start, end]`."""


Classes: TypeAlias = Callable[[str], Sequence[Breaks]]
"""Given a text, its classes of breaks, the best first."""

Find: TypeAlias = Callable[..., Iterator[re.Match[str]]]
"""`finditer` of a pattern."""

LOOK_AROUND: Final = 16
"""Code points beside a stretch in which a mark may stand whose break lies inside it."""

_START: Final = re.Match.start
_END: Final = re.Match.end

# --- Characters, as they stand inside [...] -------------------------------------------
_NEWLINES: Final = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_RARE_NEWLINES: Final = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_BLANK: Final = f"[^\\S{_NEWLINES}\u00a0\u2007\u202f]"
"""White space within a line at which a line may end; no-break spaces may not."""

_CJK: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"
    "\u3041-\u30ff\u3105-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Han, kana, bopomofo and Hangul: scripts that run words together or are mixed so."""

_UNSPACED: Final = (
    f"{_CJK}\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf"
    "\ua9e0-\ua9ff\uaa60-\uaadf"
)
"""CJK and the scripts of South-East Asia and Tibet, which set no blanks either."""

_LETTER: Final = f"[^\\W_{_UNSPACED}]"
"""A letter or digit of a script that separates its words."""

_ACCENT: Final = "\u0300-\u036f"
FULL_STOPS: Final = "。｡？！…‼⁇⁈⁉"
"""Marks that end a sentence wherever they stand."""

STOPS: Final = f".!?{FULL_STOPS}"
"""Marks that may end a sentence."""

FULL_CLAUSE_MARKS: Final = "；：，、､"
CLAUSE_MARKS: Final = f";:,{FULL_CLAUSE_MARKS}"
"""Marks that end less."""

_ASCII_CLOSERS: Final = "\"')\\]}"
_CJK_CLOSERS: Final = "」』”’）】》〉〕〗〙〛］｝｠｣»"
_CLOSERS: Final = _CJK_CLOSERS + _ASCII_CLOSERS

# --- Classes of breaks ----------------------------------------------------------------
# Every pattern begins with one set, which `re` searches for fast, and takes runs whole
# (`++` gives nothing back), so that no run of marks is looked at more than twice.
_NEWLINE: Final = f"[{_NEWLINES}](?:(?<=\r)\n)?+"
_LINE_ENDS: Final = f"{_NEWLINE}(?:{_BLANK}*+{_NEWLINE})*+"
_TAIL: Final = f"{_BLANK}*+(?:{_LINE_ENDS})?+"
"""White space behind a mark, up to the last line's end in it."""

_ENDS: Final = f"(?:[{_CJK_CLOSERS}][{_CLOSERS}]*+|(?=\\s|\\Z))"
"""An ASCII mark counts before white space or a full-width closer: `a.b`, `3.14`, and
`x.(a."b")` have no sentence."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Breaks that are all known.

    Attributes:
        places: Borders of grapheme clusters, ascending.
    """

    places: Sequence[int]

    def last(self, start: int, end: int) -> int | None:
        """See `Breaks.last`."""
        at = bisect_right(self.places, end)
        return self.places[at - 1] if at and self.places[at - 1] > start else None

    def first(self, start: int, end: int) -> int | None:
        """See `Breaks.first`."""
        at = bisect_right(self.places, start)
        return self.places[at] if at < len(self.places) and self.places[at] <= end else None


@dataclass(frozen=True, slots=True)
class Scanned:
    """Breaks that are searched for where they are asked for.

    `find` yields matches within a stretch; a break is at the `side` of each. No match is
    longer than `around`, runs aside.
    """

    text: str
    find: Callable[[str, int, int], Iterator[re.Match[str]]]
    side: Callable[[re.Match[str]], int]
    around: int = LOOK_AROUND

    def _within(self, start: int, end: int) -> list[int]:
        # More is shown than asked for, so that what reaches across an end is seen whole.
        found = self.find(self.text, max(0, start - self.around), end + self.around)
        return [place for place in map(self.side, found) if start < place <= end]

    def _sound(self, places: Sequence[int], border: int) -> int | None:
        """The first that is a cluster border: a mark that is joined ends nothing."""
        if not places or graphemes.is_plain(self.text, places[0]):  # most often
            return places[0] if places else None
        return next(graphemes.borders(self.text, places, border), None)

    def last(self, start: int, end: int) -> int | None:
        """See `Breaks.last`."""
        for begin in backwards(start, end):
            place = self._sound(self._within(begin, end)[::-1], start)
            if place is not None:
                return place
        return None

    def first(self, start: int, end: int) -> int | None:
        """See `Breaks.first`."""
        for begin, stop in forwards(start, end):
            place = self._sound(self._within(begin, stop), start)
            if place is not None:
                return place
        return None


@dataclass(frozen=True, slots=True)
class _Lines:
    """Breaks behind the lines of a text with no other newline than LF."""

    text: str

    def last(self, start: int, end: int) -> int | None:
        return self.text.rfind("\n", start, end) + 1 or None

    def first(self, start: int, end: int) -> int | None:
        return self.text.find("\n", start, end) + 1 or None


def _line_breaks(text: str) -> tuple[Breaks, Breaks]:
    """Breaks behind blank lines or paragraph separators, and behind lines."""
    if any(newline in text for newline in _RARE_NEWLINES):
        paragraphs = [match.end() for match in _find_paragraphs(text)]
        return Listed(paragraphs), Scanned(text, _find_lines, _END)
    return Listed([match.end() for match in _find_plain_paragraphs(text)]), _Lines(text)


def closers(full: str) -> str:
    """A pattern of what closes behind a mark; one that is not of `full` may need it."""
    return f"(?:(?<=[{full}])[{_CLOSERS}]*+|[{_ASCII_CLOSERS}]*+{_ENDS})"


def _marked(full: str, ascii_: str) -> str:
    return f"[{full}{ascii_}]{closers(full)}{_TAIL}"


_SENTENCE: Final = (
    f"[{STOPS}](?<![{STOPS}][{STOPS}])"  # once for a run, at its beginning
    f"(?:(?:(?<=[{FULL_STOPS}])|[.!?]*+[{FULL_STOPS}])[{STOPS}]*+[{_CLOSERS}]*+"
    f"|[.!?]*+[{_ASCII_CLOSERS}]*+{_ENDS}){_TAIL}"
)

_find_paragraphs = re.compile(f"{_NEWLINE}(?:{_BLANK}*+{_NEWLINE})++|\u2029").finditer
_find_plain_paragraphs = re.compile(f"\n(?:{_BLANK}*+\n)++").finditer
_find_lines = re.compile(_NEWLINE).finditer


@cache
def _scan_natural() -> tuple[Find, ...]:
    """Sentence, clause, comma, blank, border; built at first use, as it takes a while."""
    return tuple(
        re.compile(pattern).finditer
        for pattern in (
            _SENTENCE,
            _marked("；：", ";:"),
            _marked("，、､", ","),
            f"(?:{_BLANK}|\u200b)++(?:{_LINE_ENDS})?+",
            f"{_LETTER}[{_ACCENT}]*+(?=[{_UNSPACED}])|[{_UNSPACED}](?={_LETTER})",
        )
    )


def natural(text: str) -> tuple[Breaks, ...]:
    """Blank line, line, sentence, clause, comma, blank, border between scripts."""
    scanned = [Scanned(text, find, _END) for find in _scan_natural()]
    return *_line_breaks(text), *scanned


# --- Units ----------------------------------------------------------------------------
_MARKS: Final = f"{STOPS}；：，、､;:,{_CJK_CLOSERS})\\]}}・･ーｰ々ゝゞヽヾ゛゜ﾞﾟ"
"""Characters that belong to what stands before them, so that no chunk begins so."""

_JOINED: Final = (
    f"[^\\s{_UNSPACED}\x00-\x1f\x7f-\x9f\u2000-\u200b\u200e\u200f\u2012-\u2018"
    "\u201a-\u20cf\u2190-\u2bff\u3000-\u303f\ud800-\udfff\ufe10-\ufe6f"
    "\uff00-\uff0d\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f000-\U0001ffff]"
)
"""What may stand in a word, number or address: letters, their accents, ASCII signs."""

_OPENERS: Final = "「『“‘（【《〈〔〖〘〚［｛｢«(\\[{"
"""Characters that belong to what stands behind them, so that no chunk ends so."""

_match_marks = re.compile(f"[{_MARKS}]++").match
_match_openers = re.compile(f"[{_OPENERS}]++").match
_NUMBER: Final = r"(?:\d|[.,:](?<=\d[.,:])(?=\d))++"


@cache
def _match_runs() -> tuple[Callable[..., re.Match[str] | None], ...]:
    """Names and addresses; words in them; numbers and letters in those.

    Read backwards they are the same. Built at first use, as it takes a while.
    """
    return tuple(
        re.compile(pattern).match
        for pattern in (
            f"{_JOINED}++",
            f"(?:{_NUMBER}|{_LETTER}|[{_ACCENT}])++",
            _NUMBER,
            f"(?:(?!\\d){_LETTER}|[{_ACCENT}])++",
        )
    )


_SIGNS: Final = r"[-!#$%&)*+,./:;=>?@\\\]^_|}~]"


@cache
def _find_signs() -> Find:
    """Where a name that is too long for a chunk is cut best: behind a slash, for one."""
    return re.compile(
        f"{_SIGNS}(?<!{_SIGNS}{_SIGNS}){_SIGNS}*+(?={_LETTER})(?<!\\d[.,:])"
    ).finditer


def units(text: str, place: int, lowest: int, highest: int) -> Iterator[tuple[int, int]]:
    """What a cut at a position would tear, the largest first.

    Args:
        text: Any text.
        place: A position inside it.
        lowest: Where to stop looking back.
        highest: Where to stop looking ahead.

    Yields:
        Start and end of stretches that hold the code points on both sides of `place`: of
        the run of marks there with the word or character before it, of the name around
        it, of the part of the name between two signs, of the word in that part, of the
        number or the letters in that word.
    """
    match_runs = _match_runs()
    marks = _match_marks(text, place, highest)
    if marks:
        first = place - length_behind(_match_marks, text, lowest, place)
        if first > lowest and not text[first - 1].isspace():
            word = first - length_behind(match_runs[0], text, lowest, first)
            yield min(word, first - 1), marks.end()
        yield first, marks.end()
    for match_run in match_runs:
        ahead = match_run(text, place, highest)
        length = length_behind(match_run, text, lowest, place)
        if not ahead or not length:
            continue
        start, end = place - length, ahead.end()
        yield start, end
        if match_run is match_runs[0]:
            signs = Scanned(text, _find_signs(), _END)
            yield signs.last(start, place) or start, signs.first(place, end) or end


def opening_start(text: str, place: int, lowest: int) -> int:
    """Where the opening brackets and quotes before a position begin."""
    return place - length_behind(_match_openers, text, lowest, place)


def length_behind(
    match: Callable[..., re.Match[str] | None], text: str, lowest: int, place: int
) -> int:
    """Length of the run, of at least one code point, that ends at a position."""
    found = match(text[lowest:place][::-1])
    return found.end() if found else 0
