"""Bytes → text: marks, then UTF-8, then the likeliest of the older encodings."""

from __future__ import annotations

import codecs
import logging
import re
from typing import Final

from langchain_ragstore.loaders.letters import plausibility
from langchain_ragstore.loaders.raw import RawFile, library

logger = logging.getLogger(__name__)

_MARKS: Final = (  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_OLDER: Final = ("gb18030", "cp932", "cp949", "big5hkscs", "euc_jp", "cp1252")
"""Told apart by `letters`; the earlier wins a tie."""

_SINGLE_BYTE: Final = (
    *("cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "koi8_u", "cp866", "cp874", "iso8859_2", "iso8859_5", "iso8859_7"),
)
"""Left to charset-normalizer, when none of the above is plausible."""

_PLAUSIBLE: Final = 0.3
"""Least `plausibility` of a text: wrong encodings of our test sentences stay below."""

_WIDE: Final = ("utf-16-le", "utf-16-be")
_WIDE_LANGUAGES: Final = ("gb18030", "cp932", "cp949", "big5hkscs")
_WIDE_PLAUSIBLE: Final = 0.4
"""As `_PLAUSIBLE` for UTF-16 without a mark: our test sentences reach 0.5, and what is no
UTF-16 stays below 0.25."""

_WIDE_LEAST: Final = 4
"""Characters other than ASCII that it takes to be sure."""

_WIDE_SAMPLE: Final = 8 * 1024
"""Characters that are looked at."""

_ALIASES: Final = {  # what web pages say → what browsers take it for
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "gb_2312-80"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "euc_kr", "ks_c_5601-1987", "korean"), "cp949"),
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "us-ascii"), "cp1252"),
    **dict.fromkeys(("big5", "big5-hkscs", "x-x-big5"), "big5hkscs"),
}
_SAMPLE: Final = 64 * 1024
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x1a\x08"))


def decode(file: RawFile, declared: str | None = None) -> str:
    """The text of a file.

    The caller's encoding wins. Else: a byte order mark, UTF-16 with many ASCII
    characters, strict UTF-8, what the file declares, UTF-8 with a few damaged characters,
    and the older encoding, or UTF-16, whose text looks most like a language.

    Args:
        file: Its `encoding` is the caller's.
        declared: What the text itself says, as in HTML's `<meta charset>`.

    Returns:
        The text without a mark, not yet cleaned.

    Raises:
        UnreadableFileError: Binary data, or no encoding fits.
        MissingExtraError: The encoding needs charset-normalizer to be found.
    """
    encoding = file.encoding or _marked(file.data) or _unmarked_wide(file.data)
    if encoding:
        text = _strict(file, encoding)
    else:
        text, encoding = (
            _widest(file) if _is_binary(file.data) else _guessed(file, declared)
        )
    logger.debug("%s: decoded as %s", file.source, encoding)
    return text.removeprefix("\ufeff")


def _strict(file: RawFile, encoding: str) -> str:
    try:
        return file.data.decode(encoding)
    except UnicodeError as error:
        at = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise file.unreadable(
            f"its text is not {encoding}{at}; pass the right encoding="
        ) from error


def _marked(data: bytes) -> str | None:
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)


def _unmarked_wide(data: bytes) -> str | None:
    """UTF-16 without a mark: ASCII in it has a zero at every second byte.

    At the other bytes a zero is rare; it is part of 一, for one.
    """
    sample = data[:_SAMPLE]
    if len(data) % 2 or len(sample) < 8 or 0 not in sample:  # noqa: PLR2004
        return None
    half = len(sample) // 2
    zeros = [sample[at::2].count(0) for at in (0, 1)]
    for at, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if zeros[at] * 5 >= half and zeros[1 - at] * 20 <= zeros[at]:
            read = sample.decode(name, "ignore").encode()
            return None if _is_binary(read) else name
    return None


def _wide(data: bytes) -> list[tuple[float, str]]:
    """How plausible a text is as Chinese, Japanese or Korean in UTF-16, if it is at all.

    Half of the bytes of such a text are any bytes, control characters among them.
    """
    found = []
    for name in _WIDE:
        text = _attempt(data, name)
        sample = (text or "")[:_WIDE_SAMPLE]
        others = len(sample) - len(sample.encode("ascii", "ignore"))
        if others >= _WIDE_LEAST and not _is_binary(sample.encode()):
            score = max(plausibility(sample, language) for language in _WIDE_LANGUAGES)
            if score >= _WIDE_PLAUSIBLE:
                found.append((score, name))
    return found


def _widest(file: RawFile) -> tuple[str, str]:
    """The text of what is UTF-16 if it is no binary data."""
    for _, name in sorted(_wide(file.data), reverse=True):
        return file.data.decode(name), name
    raise file.unreadable("it holds binary data, not text")


def _is_binary(data: bytes) -> bool:
    """More control characters than a few strays: two, and one in fifty bytes."""
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > 2 + len(sample) // 50


def _guessed(file: RawFile, declared: str | None) -> tuple[str, str]:
    data = file.data
    if re.search(rb"\x1b\$[@B]", data[:_SAMPLE]):
        named = _attempt(data, "iso2022_jp")
        if named is not None:
            return named, "iso2022_jp"
    for encoding in ("utf-8", _known(declared)):
        text = _attempt(data, encoding) if encoding else None
        if text is not None:
            return text, str(encoding)
    mended = _mended(file)
    return (mended, "utf-8") if mended is not None else _older(file)


def _attempt(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeError:
        return None


def _known(declared: str | None) -> str | None:
    """A declared encoding as Python's name; None if Python has none."""
    if declared is None:
        return None
    name = _ALIASES.get(declared.strip().lower(), declared.strip())
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return None
    return name


def _mended(file: RawFile) -> str | None:
    """UTF-8 with a damaged character here and there.

    One bad byte must not turn all the others into another encoding's letters.
    """
    text = file.data.decode("utf-8", "replace")
    damaged = text.count("\ufffd") - file.data.count("\ufffd".encode())
    whole = len(text) - len(text.encode("ascii", "ignore")) - damaged
    if damaged * 20 > whole:
        return None
    logger.warning("%s: %d damaged characters replaced", file.source, damaged)
    return text


def _older(file: RawFile) -> tuple[str, str]:
    sample = _telling(file.data)
    scored = [
        (plausibility(sample.decode(name, "ignore"), name), -at, name)
        for at, name in enumerate(_OLDER)
    ]
    scored += [(score, -len(_OLDER), name) for score, name in _wide(file.data)]
    for score, _, name in sorted(scored, reverse=True):
        text = _attempt(file.data, name) if score >= _PLAUSIBLE else None
        if text is not None:
            return text, name
    normalizer = library("charset_normalizer", "charset-normalizer")
    best = normalizer.from_bytes(sample, cp_isolation=list(_SINGLE_BYTE)).best()
    text = None if best is None else _attempt(file.data, best.encoding)
    if best is None or text is None:
        raise file.unreadable("its encoding is not recognised; pass encoding=")
    return text, str(best.encoding)


def _telling(data: bytes) -> bytes:
    """The first lines that are not ASCII."""
    kept, size = [], 0
    for line in re.finditer(rb"[^\n]*\n?", data):
        if not line[0].isascii():
            kept.append(line[0])
            size += len(line[0])
        if size >= _SAMPLE:
            break
    return b"".join(kept)[:_SAMPLE]
