"""Which files are found; many files, some of which cannot be read."""

import os
import pickle
from pathlib import Path

import pytest
from langchain_core.document_loaders import BaseLoader

import office
from langchain_ragstore import CJKRecursiveTextSplitter, HashingEmbeddings, RagPipeline
from langchain_ragstore.errors import InvalidInputError, RagStoreError, UnreadableFileError
from langchain_ragstore.loaders import FileLoader, LoadedFile, find_files, load_files

TREE = [
    "b.md",
    "a.txt",
    "A.PDF",
    "data.csv",
    "picture.png",
    "notes.log",
    ".hidden.md",
    "~$a.docx",
    "drafts/c.md",
    "drafts/deep/d.md",
    "drafts/deep/e.txt",
    ".git/config.txt",
    "sub/.cache/f.md",
    "sub/日本.md",
]


@pytest.fixture
def tree(tmp_path):
    for name in TREE:
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Tea", encoding="utf-8")
    return tmp_path / "root"


def names(root, *arguments, **options):
    return [p.relative_to(root).as_posix() for p in find_files(root, *arguments, **options)]


def test_the_default_is_every_known_format(tree):
    assert names(tree) == [
        "A.PDF",
        "a.txt",
        "b.md",
        "data.csv",
        "drafts/c.md",
        "drafts/deep/d.md",
        "drafts/deep/e.txt",
        "sub/日本.md",
    ]
    assert names(tree) == names(str(tree))


@pytest.mark.parametrize(
    ("include", "found"),
    [
        ("*.md", ["b.md"]),
        ("**/*.md", ["b.md", "drafts/c.md", "drafts/deep/d.md", "sub/日本.md"]),
        ("drafts/**", ["drafts/c.md", "drafts/deep/d.md", "drafts/deep/e.txt"]),
        ("drafts", ["drafts/c.md", "drafts/deep/d.md", "drafts/deep/e.txt"]),
        ("./drafts/", ["drafts/c.md", "drafts/deep/d.md", "drafts/deep/e.txt"]),
        ("drafts/*", ["drafts/c.md", "drafts/deep/d.md", "drafts/deep/e.txt"]),
        ("**/deep/*.md", ["drafts/deep/d.md"]),
        ("drafts/**/d.md", ["drafts/deep/d.md"]),
        ("[ab].*", ["a.txt", "b.md"]),
        ("?.md", ["b.md"]),
        ("*.log", ["notes.log"]),
        ("picture.png", ["picture.png"]),
        (["*.log", "**/*.txt"], ["a.txt", "drafts/deep/e.txt", "notes.log"]),
        ("*.MD", []),
        ("**/.cache/**", ["sub/.cache/f.md"]),
        (".*", [".git/config.txt", ".hidden.md"]),
        ("none/**", []),
    ],
)
def test_include(tree, include, found):
    assert names(tree, include) == found


@pytest.mark.parametrize(
    ("exclude", "found"),
    [
        ("**/*.md", ["a.txt", "drafts/deep/e.txt"]),
        ("drafts/**", ["a.txt", "b.md", "sub/日本.md"]),
        ("drafts", ["a.txt", "b.md", "sub/日本.md"]),
        ("**/deep", ["a.txt", "b.md", "drafts/c.md", "sub/日本.md"]),
        (
            ["drafts/deep/*.txt", "sub"],
            ["a.txt", "b.md", "drafts/c.md", "drafts/deep/d.md"],
        ),
        ("**", []),
    ],
)
def test_exclude(tree, exclude, found):
    assert names(tree, ["**/*.md", "**/*.txt"], exclude) == found


@pytest.mark.parametrize("pattern", ["/etc/*", "../*.md", "a/../b", "", ".", 3, Path("a")])
@pytest.mark.parametrize("name", ["include", "exclude"])
def test_patterns_that_are_none(tree, name, pattern):
    with pytest.raises(InvalidInputError, match=f"{name} "):
        find_files(tree, **{name: [pattern]})


def test_a_file_stands_for_itself(tree):
    assert find_files(tree / "picture.png", "*.md", "*") == [tree / "picture.png"]


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"there is no file or folder '.*gone'"):
        find_files(tmp_path / "gone")


def test_an_empty_folder(tmp_path):
    assert find_files(tmp_path) == []


def test_relative_paths_stay_relative(tree, monkeypatch):
    monkeypatch.chdir(tree.parent)
    assert find_files("root", "*.md") == [Path("root/b.md")]
    monkeypatch.chdir(tree)
    assert find_files(".", "*.md") == [Path("b.md")]


def test_links(tree):
    (tree / "sub" / "up").symlink_to(tree)
    (tree / "again").symlink_to(tree / "drafts")
    outside = tree.parent / "outside"
    outside.mkdir()
    (outside / "o.md").write_text("Tea", encoding="utf-8")
    (outside / "back").symlink_to(tree)
    (tree / "0link").symlink_to(outside)
    (tree / "file.md").symlink_to(outside / "o.md")
    found = names(tree, "**/*.md")
    assert found == [
        "0link/o.md",
        "b.md",
        "drafts/c.md",
        "drafts/deep/d.md",
        "file.md",
        "sub/日本.md",
    ]
    ring = tree.parent / "ring"
    ring.mkdir()
    (ring / "ring").symlink_to(ring)
    assert find_files(ring) == []


def test_what_cannot_be_read_is_reported(tree, monkeypatch):
    (tree / "dangling.pdf").symlink_to(tree / "nowhere")
    (tree / "folder.pdf").mkdir()
    (tree / "folder.pdf" / "x.md").write_text("Tea", encoding="utf-8")
    os.mkfifo(tree / "pipe.txt")
    scandir = os.scandir

    def guarded(path):
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    found = find_files(tree)
    assert "folder.pdf/x.md" in names(tree)
    assert {
        file.path.relative_to(tree).as_posix(): file.error.reason
        for file in load_files(found)
        if file.error
    } == {
        "A.PDF": "it is not a PDF file, whatever its name says",
        "dangling.pdf": "No such file or directory",
        "pipe.txt": "it is not a regular file",
        "sub": "Permission denied",
    }


# --- loading -------------------------------------------------------------------------


def test_one_bad_file_stops_no_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = Path("good.md")
    good.write_text("# Tea", encoding="utf-8")
    Path("empty.txt").write_bytes(b"")
    Path("blank.md").write_bytes(b" \n\x00\n")
    Path("broken.pdf").write_bytes(office.make_pdf(["x"])[:99])
    Path("locked.pdf").write_bytes(office.encrypted(office.make_pdf(["x"]), "pw"))
    Path("locked.xlsx").write_bytes(office.ole(encrypted=True))
    Path("huge.txt").write_bytes(b"x" * 5_001)
    Path("dir.pdf").mkdir()
    listed = [
        "empty.txt",
        "blank.md",
        "broken.pdf",
        "locked.pdf",
        "locked.xlsx",
        "huge.txt",
    ]
    files = list(load_files([*listed, "dir.pdf", "gone.txt", good], max_bytes=5_000))
    assert [file.source for file in files] == [*listed, "dir.pdf", "gone.txt", "good.md"]
    reasons = [file.error and file.error.reason for file in files]
    assert reasons[2].startswith("it is damaged (Pdf")
    assert reasons[:2] + reasons[3:] == [
        "it is empty",
        "it has no text",
        "it is encrypted; save a copy without a password",
        "it is encrypted; save a copy without a password",
        "it is larger than max_bytes=5000; raise the limit",
        "it is a folder; find_files() lists its files",
        "No such file or directory",
        None,
    ]
    assert files[-1] == LoadedFile(good, "good.md", tuple(FileLoader(good).load()))


def test_files_are_read_when_their_turn_comes(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("Tea", encoding="utf-8")
    files = load_files([tmp_path / "a", tmp_path / "b"])
    assert next(files).error is None
    (tmp_path / "b").unlink()
    assert next(files).error.reason == "No such file or directory"


def test_a_file_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("Tea", encoding="utf-8")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    (loaded,) = load_files(path)
    assert loaded.error.reason == "Permission denied"


def test_a_device_is_not_waited_for():
    with pytest.raises(UnreadableFileError, match="it is not a regular file"):
        FileLoader(os.devnull).load()


def test_limits_are_checked(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"12345")
    assert FileLoader(path, max_bytes=5).load()[0].page_content == "12345"
    with pytest.raises(UnreadableFileError, match="larger than max_bytes=4"):
        FileLoader(path, max_bytes=4).load()
    for wrong in (0, -1, True, 1.5, "9"):
        with pytest.raises(InvalidInputError, match="max_bytes is a positive integer"):
            FileLoader(path, max_bytes=wrong)
    with pytest.raises(InvalidInputError, match="path is a string or a Path"):
        FileLoader(3)
    assert FileLoader(path).max_bytes == 200 * 1024 * 1024


def test_names_that_are_no_text(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_bytes(b"Tea")
    (found,) = find_files(tmp_path)
    (document,) = FileLoader(found).load()
    assert document.metadata["source"] == f"{tmp_path}/caf\\udce9.txt"
    assert document.metadata["title"] == "caf\\udce9"


async def test_langchains_ways_to_load(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    loader = FileLoader(str(path))
    assert isinstance(loader, BaseLoader)
    loaded = loader.load()
    assert loaded == list(loader.lazy_load()) == [d async for d in loader.alazy_load()]
    assert await loader.aload() == loaded
    assert loader.load_and_split(CJKRecursiveTextSplitter(20, 0))


def test_the_error(tmp_path):
    error = UnreadableFileError("a.pdf", "it is empty")
    assert isinstance(error, RagStoreError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.path, again.reason) == ("a.pdf", "it is empty")
    assert str(again) == "a.pdf cannot be read: it is empty"


def test_a_folder_goes_into_a_pipeline(tmp_path):
    (tmp_path / "tea.pdf").write_bytes(
        office.make_pdf(["Green tea wants 80 degrees", "Rinse"])
    )
    (tmp_path / "prices.csv").write_text("item,price\ncup,3\npot,9\n", encoding="utf-8")
    (tmp_path / "bad.docx").write_bytes(b"no")
    pipeline = RagPipeline(HashingEmbeddings(), splitter=CJKRecursiveTextSplitter())
    files = list(load_files(find_files(tmp_path)))
    report = pipeline.ingest(d for file in files for d in file.documents)
    assert report.added == 5
    ((document, _),) = pipeline.retrieve("how warm for green tea", 1)
    assert document.metadata["page"] == 1
    ((document, _),) = pipeline.retrieve(
        "price", 1, filter={"content_type": "table_schema"}
    )
    assert "price (integer)" in document.page_content
    again = pipeline.ingest(d for file in files for d in file.documents)
    assert (again.added, again.skipped) == (0, 5)


def test_a_link_to_itself_stops_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    (tmp_path / "s.txt").symlink_to("s.txt")
    loaded, broken = load_files(find_files(tmp_path))
    assert loaded.documents[0].page_content == "a"
    assert "s.txt" in str(broken.error)
