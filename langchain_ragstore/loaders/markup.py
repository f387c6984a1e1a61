"""HTML and DOCX as Markdown, so that headings, lists and tables survive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import Any, Final

from langchain_core.documents import Document

from langchain_ragstore.loaders.archives import own_title
from langchain_ragstore.loaders.encodings import decode
from langchain_ragstore.loaders.hygiene import clean
from langchain_ragstore.loaders.raw import RawFile, library

_DROPPED: Final = (  # not `head`: where its end is missing, the page is in it
    *("script", "style", "nav", "template", "noscript", "svg", "title", "iframe", "col"),
)
_CLOSES: Final = {  # a tag → those whose end it implies, as in HTML's own rules
    **{f"h{level}": ("p",) for level in range(1, 7)},
    **dict.fromkeys(("p", "ul", "ol", "dl", "table", "pre", "div"), ("p",)),
    "li": ("li", "p"),
    "dt": ("dt", "dd", "p"),
    "dd": ("dt", "dd", "p"),
    "td": ("td", "th", "p"),
    "th": ("td", "th", "p"),
    "tr": ("tr", "td", "th", "p"),
    "tbody": ("thead", "tbody", "tr", "td", "th", "p"),
    "tfoot": ("thead", "tbody", "tr", "td", "th", "p"),
}
_CHARSET: Final = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,200}?encoding)\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)
_DECLARATION: Final = re.compile(r"\s*<\?xml[^>]*\?>")
_STYLES: Final = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"


def read_html(file: RawFile) -> Iterator[Document]:
    """A page as one document; its `<title>`, else its first `<h1>`, is the title."""
    said = _CHARSET.search(file.data[:4096])
    text = clean(decode(file, said[1].decode("ascii", "replace") if said else None))
    soup = _soup(text)
    named = soup.find("title") or soup.find("h1")
    title = named.get_text(" ") if named else None
    yield from _whole(file, soup, title)


def read_docx(file: RawFile) -> Iterator[Document]:
    """A Word document as one document; of pictures their descriptions."""
    mammoth = library("mammoth", "mammoth")
    page = mammoth.convert_to_html(
        BytesIO(file.data),
        style_map=_STYLES,
        convert_image=mammoth.images.img_element(lambda _: {}),  # its description is kept
    )
    yield from _whole(file, _soup(clean(page.value)), own_title(file.data))


def _whole(file: RawFile, soup: Any, title: str | None) -> Iterator[Document]:
    markdown = to_markdown(soup)
    if not markdown.strip():
        raise file.unreadable("it has no text")
    yield file.document(markdown, title)


def _soup(html: str) -> Any:
    """Parse with Python's own parser, which loses no text, however broken the page."""
    bs4 = library("bs4", "beautifulsoup4")
    # Its warnings, about XML and about text that looks like a file name, are not for
    # those who load files.
    html = _DECLARATION.sub("", html, count=1)
    page = _lenient(bs4.BeautifulSoup)
    return page(html if "<" in html else f"<p>{html}</p>", "html.parser")


@cache
def _lenient(base: type[Any]) -> type[Any]:
    """A parser that ends the `<li>` that was left open when the next one comes.

    Python's nests them: a list of 500 items would be 500 levels deep.
    """

    def handle_starttag(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        while self.currentTag.name in _CLOSES.get(name, ()):
            self.handle_endtag(self.currentTag.name)
        return base.handle_starttag(self, name, *args, **kwargs)

    return type("Page", (base,), {"handle_starttag": handle_starttag})


def to_markdown(soup: Any) -> str:
    """What a parsed page says, as Markdown; the page is changed on the way."""
    markdownify = library("markdownify", "markdownify")
    _prune(soup)
    _keep_tables_whole(soup)
    converter = markdownify.MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,  # `a*b` and `snake_case` are searched for as they are
        escape_underscores=False,
        table_infer_header=True,
    )
    try:
        text = str(converter.convert_soup(soup))
    except RecursionError:  # hundreds of levels: the text without its marks
        text = str(soup.get_text("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _prune(soup: Any) -> None:
    """Take out what is not read: scripts, navigation, pictures, links into the page."""
    for tag in soup.find_all(list(_DROPPED)):
        tag.extract()
    for tag in soup.find_all("colgroup"):
        tag.unwrap()
    for tag in soup.find_all("img"):
        tag.replace_with(str(tag.get("alt") or ""))
    for tag in soup.find_all("a", href=re.compile("^(#|javascript:)")):
        if tag.get_text().strip() in ("¶", "#", "§", "\uf0c1"):  # "link to this heading"
            tag.extract()
        else:
            tag.unwrap()


def _keep_tables_whole(soup: Any) -> None:
    """A caption goes before its table; a bar in a cell is no border."""
    for table in soup.find_all("table"):
        for caption in table.find_all("caption", recursive=False):
            caption.name = "p"
            table.insert_before(caption.extract())
    for cell in soup.find_all(["td", "th"]):
        for text in cell.find_all(string=re.compile(r"(?<!\\)\|")):
            text.replace_with(str(text).replace("|", "\\|"))
