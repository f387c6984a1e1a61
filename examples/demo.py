"""What the package does, on real documents in three languages; run it with `make demo`.

1. Documents are cut into chunks, embedded and stored in one file.
2. Questions in English, Chinese and Japanese are answered from it.
3. A new process opens the file and gives the same answers.
4. The same with the smallest possible model, for reading the numbers by hand.

With the extra `local`, a model that knows meaning answers, across languages, too; without
it one that matches words and characters. The first line says which.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    HashingEmbeddings,
    LocalEmbeddings,
    MissingExtraError,
    MockEmbeddings,
    RagPipeline,
    SQLiteVectorStore,
    make_document,
)

FOLDER = Path(__file__).parent / "documents"
TYPES = {".md": "text/markdown", ".txt": "text/plain"}
QUESTIONS = (
    "How much is the late fee for an overdue book?",
    "Why are there two high tides a day?",
    "退款多久到账？",
    "绿茶应该怎样保存？",
    "大きな地震が起きたときに最初にすることは？",
    "自転車のブレーキの点検",
)


def documents() -> Iterator[Document]:
    """The texts beside this file, each with its language as metadata."""
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in TYPES and path.name != "README.md":
            yield make_document(
                path.name,
                path.read_text(encoding="utf-8"),
                mime_type=TYPES[path.suffix],
                metadata={"lang": path.stem.split("_")[0]},
            )


def best_model() -> Embeddings:
    """The best model that is installed."""
    try:
        return LocalEmbeddings()
    except MissingExtraError:
        return HashingEmbeddings()


def opened(path: str) -> RagPipeline:
    """The pipeline over a file."""
    return RagPipeline(
        store=SQLiteVectorStore(best_model(), path),
        splitter=CJKRecursiveTextSplitter(chunk_size=300, chunk_overlap=45),
    )


def answers(pipeline: RagPipeline) -> str:
    """The two best chunks for each question, with their cosines."""
    lines = []
    for question in QUESTIONS:
        lines.append(f"? {question}")
        for document, score in pipeline.retrieve(question, k=2):
            text = " ".join(document.page_content.split())
            lines.append(f"  {score:.3f}  {document.id}  {text[:60]}")
    return "\n".join(lines)


def first_half(path: str) -> str:
    """Ingest the documents, show the chunks, and answer."""
    pipeline = opened(path)
    print(f"model         {best_model()}")
    report = pipeline.ingest(documents())
    print(f"ingested      {report}")
    print(f"once more     {pipeline.ingest(documents())}\n")
    for chunk in pipeline.store.get():
        start, size = chunk.metadata["start_index"], len(chunk.page_content)
        print(f"  {chunk.id:32} {start:5} +{size:<4} {chunk.page_content[:24]!r}")
    found = answers(pipeline)
    print(f"\n{found}\n")
    print("  only Japanese documents, by a filter:")
    for document, score in pipeline.retrieve("地震 fee", k=2, filter={"lang": "ja"}):
        print(f"  {score:.3f}  {document.id}")
    pipeline.store.close()
    return found


def in_new_process(path: str) -> str:
    """The same questions, asked by another process of the same file."""
    command = [sys.executable, __file__, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def by_hand() -> None:
    """The seed's own figures: four dimensions, chunks of 200 characters, the top 3."""
    splitter = CJKRecursiveTextSplitter(200, 30)
    chunks = splitter.split_documents(documents())
    store = SQLiteVectorStore(MockEmbeddings(4))
    store.add_documents(chunks)
    print(f"\nMockEmbeddings(4), splitter(200, 30): {len(chunks)} chunks")
    for chunk in chunks:
        print(f"  {chunk.id}  {chunk.page_content[:20]!r}")
    (query, *_) = QUESTIONS
    print(f"top 3 of {len(store)} for {query!r} (this model knows no meaning):")
    for document, score in store.similarity_search_with_score(query, k=3):
        print(f"  {score:.6f}  {document.id}")


def main() -> None:
    """Run the demonstration in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "demo.db")
        before = first_half(path)
        after = in_new_process(path)
        if before != after:
            raise SystemExit(f"a new process answers otherwise:\n{after}")
        size = Path(path).stat().st_size
        print(f"\na new process opened the file ({size:,} bytes): the same answers")
        by_hand()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(answers(opened(sys.argv[1])))
    else:
        main()
