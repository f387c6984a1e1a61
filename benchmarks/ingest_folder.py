"""Files of a folder into a store: clean, again, and killed half-way and resumed.

Usage: python benchmarks/ingest_folder.py [--convert SOURCE] FOLDER [RESULT.json]

With --convert, FOLDER is made first: texts found under SOURCE (/usr/share/doc, say) as
100 files of mixed formats.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import html
import json
import os
import platform
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from langchain_core.embeddings import Embeddings

from langchain_ragstore import CJKRecursiveTextSplitter, HashingEmbeddings, RagPipeline
from langchain_ragstore.vectorstores import SQLiteVectorStore

FORMATS = ("txt", "md", "html", "docx", "pdf", "csv", "xlsx")
COUNT, LEAST, MOST, SHARE = 100, 3_000, 60_000, 40
DIMENSION, CHUNK = 384, (1000, 200)


# --- real documents in mixed formats ----------------------------------------------------


def texts(source: Path) -> list[tuple[str, str]]:
    """Names and texts of documents, a folder's share limited, in a fixed order."""
    found, packages = [], Counter[str]()
    for path in sorted(source.rglob("*")):
        package = path.parent.name
        name = path.name.removesuffix(".gz")
        wanted = not name.startswith("copyright") and re.search(
            r"\.(txt|html?|md|rst)$|^(README|NEWS|FAQ|HOWTO|changelog)", name
        )
        if not wanted or packages[package] >= SHARE or not path.is_file():
            continue
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else None
        text = (data or path.read_bytes()).decode("utf-8", "replace")
        if re.search(r"\.html?$", name):
            body = re.sub(r"(?is)<(script|style|head)\b.*?</\1>", "", text)
            body = re.sub(r"(?i)</?(p|div|h\d|li|tr|br|pre|table)\b[^>]*>", "\n", body)
            text = html.unescape(re.sub(r"<[^>]+>", "", body))
        text = re.sub(r"[ \t]+", " ", re.sub(r"\n\s*\n+", "\n\n", text)).strip()[:MOST]
        if len(text) >= LEAST:
            packages[package] += 1
            found.append((f"{package}-{re.sub(r'[^A-Za-z0-9]+', '-', name)}", text))
    return found


def convert(source: Path, folder: Path) -> None:
    chosen = texts(source)
    step = max(len(chosen) / COUNT, 1)
    picked = [chosen[int(n * step)] for n in range(min(COUNT, len(chosen)))]
    for number, (name, text) in enumerate(picked):
        kind = FORMATS[number % len(FORMATS)]
        target = folder / f"part{number // 25}" / f"{number:03d}-{name}.{kind}"
        target.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[kind](target, name, text)


def write_text(path: Path, _name: str, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def write_markdown(path: Path, name: str, text: str) -> None:
    path.write_text(f"# {name}\n\n{text}\n", encoding="utf-8")


def write_html(path: Path, name: str, text: str) -> None:
    body = "".join(f"<p>{html.escape(part)}</p>\n" for part in text.split("\n\n"))
    page = (
        f"<html><head><title>{html.escape(name)}</title></head><body>{body}</body></html>"
    )
    path.write_text(page, encoding="utf-8")


def write_docx(path: Path, _name: str, text: str) -> None:
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    printable = re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd]", "", text)
    paragraphs = "".join(
        f'<w:p><w:r><w:t xml:space="preserve">{escape(part)}</w:t></w:r></w:p>'
        for part in printable.split("\n\n")
    )
    main = (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    )
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types">'
            f'<Default Extension="rels" ContentType="{relations}"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{w}"><w:body>{paragraphs}</w:body></w:document>',
        )


_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def write_pdf(path: Path, _name: str, text: str) -> None:
    """Pages of 60 lines in Helvetica; what Latin-1 lacks becomes a question mark."""
    lines = [
        line[at : at + 100]
        for line in text.split("\n")
        for at in range(0, len(line) or 1, 100)
    ]
    pages = [lines[at : at + 60] for at in range(0, len(lines), 60)]
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        _FONT,
    ]
    for at, page in enumerate(pages):
        shown = b"".join(
            b"(%s) ' " % re.sub(rb"([\\()])", rb"\\\1", line.encode("cp1252", "replace"))
            for line in page
        )
        stream = b"BT /F1 9 Tf 12 TL 40 770 Td %sET" % shown
        bodies += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * at),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    data, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(bodies, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(bodies) + 1)
    path.write_bytes(bytes(data + b"startxref\n%d\n%%%%EOF\n" % start))


def rows(text: str) -> list[list[Any]]:
    """Paragraphs as the rows of a table."""
    parts = [" ".join(part.split())[:2_000] for part in text.split("\n\n")]
    printable = [re.sub(r"[^\x20-\ud7ff\ue000-\ufffd]", "", part) for part in parts]
    numbered = [[n, len(part), part] for n, part in enumerate(printable, start=1)]
    return [["paragraph", "length", "text"], *numbered]


def write_csv(path: Path, _name: str, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows(text))


def write_xlsx(path: Path, name: str, text: str) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = name[:30]
    for row in rows(text):
        sheet.append([f"'{cell}" if str(cell).startswith("=") else cell for cell in row])
    book.save(path)


WRITERS = {
    "txt": write_text,
    "md": write_markdown,
    "html": write_html,
    "docx": write_docx,
    "pdf": write_pdf,
    "csv": write_csv,
    "xlsx": write_xlsx,
}


# --- what is measured ---------------------------------------------------------------------


class Counted(Embeddings):
    """`HashingEmbeddings` that count texts."""

    def __init__(self) -> None:
        self.model, self.texts = HashingEmbeddings(DIMENSION), 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Count and embed."""
        self.texts += len(texts)
        return self.model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Embed; not counted."""
        return self.model.embed_query(text)


def run(path: Path, folder: Path) -> dict[str, Any]:
    model = Counted()
    with SQLiteVectorStore(model, path) as store:
        pipeline = RagPipeline(store=store, splitter=CJKRecursiveTextSplitter(*CHUNK))
        started = time.perf_counter()
        report = pipeline.ingest_path(folder)
        seconds = time.perf_counter() - started
    return {
        "seconds": round(seconds, 3),
        "files_loaded": report.loaded,
        "files_unchanged": report.unchanged,
        "files_failed": len(report.failed),
        "chunks_added": report.added,
        "chunks_skipped": report.skipped,
        "texts_embedded": model.texts,
    }


def content(path: Path) -> list[tuple[Any, ...]]:
    """Ids, texts, metadata and vectors."""
    connection = sqlite3.connect(path)
    found = connection.execute(
        "SELECT r.id, r.content, r.metadata, v.data FROM ragstore_record r "
        "JOIN ragstore_vector v ON v.record = r.key ORDER BY r.id"
    ).fetchall()
    connection.close()
    return found


def killed(path: Path, folder: Path, chunks: int) -> int:
    """Start a run in another process and kill it when half of the chunks are there."""
    SQLiteVectorStore(None, path).close()
    process = subprocess.Popen([sys.executable, __file__, "--one", str(path), str(folder)])
    connection = sqlite3.connect(path)
    stored = 0
    while stored < chunks / 2 and process.poll() is None:
        time.sleep(0.002)
        (stored,) = connection.execute("SELECT count(*) FROM ragstore_record").fetchone()
    process.send_signal(signal.SIGKILL)
    process.wait()
    (stored,) = connection.execute("SELECT count(*) FROM ragstore_record").fetchone()
    connection.close()
    return int(stored)


def measure(folder: Path) -> dict[str, Any]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    with tempfile.TemporaryDirectory() as work:
        clean, resumed = Path(work) / "clean.db", Path(work) / "resumed.db"
        first, second = run(clean, folder), run(clean, folder)
        left = killed(resumed, folder, first["chunks_added"])
        rest = run(resumed, folder)
        same = content(clean) == content(resumed)
    return {
        "files": len(files),
        "formats": dict(sorted(Counter(path.suffix[1:] for path in files).items())),
        "bytes": sum(path.stat().st_size for path in files),
        "dimension": DIMENSION,
        "splitter": CHUNK,
        "first_run": first,
        "second_run": second,
        "chunks_when_killed": left,
        "resumed_run": rest,
        "resumed_store_equals_clean_store": same,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--convert", type=Path, metavar="SOURCE")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("result", type=Path, nargs="?")
    given = parser.parse_args()
    if given.one:
        run(given.one, given.folder)
        return
    if given.convert:
        convert(given.convert, given.folder)
    text = json.dumps(measure(given.folder), indent=2) + "\n"
    print(text, end="")
    if given.result:
        given.result.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
