"""`show_chunks`: how a splitter cuts a text, to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from langchain_text_splitters import TextSplitter
from typing_extensions import override

from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.notebook import locate, page, plain
from langchain_ragstore.notebook.layout import Layout, shared

_MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True, repr=False)
class ChunkView(Layout):
    """The chunks of a text; a notebook draws it, `print` writes it.

    Attributes:
        text: The whole text.
        spans: Where each chunk lies in it; None for a chunk that is not a part of it.
        sizes: The chunks' sizes, in `unit`.
        overlaps: How much each repeats from the one before, in `unit`.
        contents: The chunks themselves.
        caption: The name over the picture.
        unit: What the splitter measures in: "characters", "tokens" or "units".
        limit: The largest size that it was asked for, if it is known.
        overlap: The largest overlap that it was asked for, if it is known.
        max_chars: How many characters of the text are drawn; the rest is counted alone.
    """

    @override
    def __str__(self) -> str:
        return plain.render(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return page.render([self])


@dataclass(frozen=True, slots=True, repr=False)
class ChunkComparison:
    """Several splitters' chunks of one text, side by side.

    Attributes:
        views: One for each splitter, in the order they were given.
    """

    views: tuple[ChunkView, ...]

    @override
    def __str__(self) -> str:
        return "\n\n".join(map(plain.render, self.views))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return page.render(self.views)


@overload
def show_chunks(
    splitter: TextSplitter, text: str, *, max_chars: int = ...
) -> ChunkView: ...
@overload
def show_chunks(
    splitter: Mapping[str, TextSplitter] | Sequence[TextSplitter],
    text: str,
    *,
    max_chars: int = ...,
) -> ChunkComparison: ...
def show_chunks(
    splitter: TextSplitter | Mapping[str, TextSplitter] | Sequence[TextSplitter],
    text: str,
    *,
    max_chars: int = _MAX_CHARS,
) -> ChunkView | ChunkComparison:
    """Show how a splitter cuts a text: chunks coloured, overlaps hatched, sizes.

    The last value of a notebook's cell is drawn; `print` writes plain text. The whole text
    is cut and counted, whatever is drawn of it. LangChain's own splitters are shown, too;
    a chunk of theirs that is no part of the text is listed as not found.

    Args:
        splitter: A LangChain `TextSplitter`; or several, side by side, as a list or under
            their captions: `{"200 characters": a, "80 tokens": b}`.
        text: What to cut.
        max_chars: How many characters of it to draw.

    Returns:
        The chunks with their places and sizes, which draw themselves.

    Raises:
        InvalidInputError: Something else than splitters, or than a text.

    Example:
        ```python
        from langchain_ragstore import CJKRecursiveTextSplitter, show_chunks

        view = show_chunks(CJKRecursiveTextSplitter(10, 5), "春天来了。花开了。去爬山。")
        assert view.spans == ((0, 9), (5, 13))
        assert view.sizes == (9, 8)
        assert view.overlaps == (0, 4)
        print(view)
        ```
    """
    if not isinstance(text, str):
        raise InvalidInputError(
            f"text must be a str, got {type(text).__name__}; of a Document, pass its "
            "page_content"
        )
    if type(max_chars) is not int or max_chars < 1:  # True is an int, too
        raise InvalidInputError(f"max_chars must be a positive int, got {max_chars!r}")
    if isinstance(splitter, Mapping):
        named = list(splitter.items())
    elif isinstance(splitter, Sequence) and not isinstance(splitter, str):
        named = [(_caption(each), each) for each in splitter]
    else:
        return _view(_caption(splitter), splitter, text, max_chars)
    if not named:
        raise InvalidInputError(f"there is no splitter in {splitter!r}")
    return ChunkComparison(tuple(_view(*pair, text, max_chars) for pair in named))


def _caption(splitter: object) -> str:
    return type(splitter).__name__


def _view(caption: str, splitter: TextSplitter, text: str, max_chars: int) -> ChunkView:
    if not isinstance(caption, str):
        raise InvalidInputError(f"a caption must be a str, got {caption!r}")
    if not isinstance(splitter, TextSplitter):
        raise InvalidInputError(
            "splitter must be a LangChain TextSplitter, or a list or dict of them; got "
            f"{splitter!r}"
        )
    measure = locate.measure(splitter)
    contents, spans = locate.chunks(splitter, text, measure)
    repeated = [
        text[span[0] : span[0] + shared(spans, index)] if span else ""
        for index, span in enumerate(spans)
    ]
    return ChunkView(
        text=text,
        spans=tuple(spans),
        sizes=tuple(map(measure.length, contents)),
        overlaps=tuple(measure.length(part) if part else 0 for part in repeated),
        contents=tuple(contents),
        caption=caption,
        unit=measure.unit,
        limit=measure.limit,
        overlap=measure.overlap,
        max_chars=max_chars,
    )
