"""Watching a folder: what is waited for, survived and left behind.

Changes and the clock are given by hand; nothing sleeps but the last, slow test.
"""

import builtins
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
from langchain_core.vectorstores import InMemoryVectorStore

import office
from fakes import Clock, Counting
from langchain_ragstore import (
    CJKRecursiveTextSplitter,
    EmbeddingUnreachableError,
    InvalidInputError,
    MissingExtraError,
    RagPipeline,
    SQLiteVectorStore,
    StoreClosedError,
)
from langchain_ragstore.folders import Folder
from langchain_ragstore.loaders.files import Choice
from langchain_ragstore.watching import Pending, changes_on_disk, follow


class Scene:
    """A folder, a store, and a play of changes."""

    def __init__(self, root):
        self.root = root
        self.clock = Clock()
        self.stop = threading.Event()
        self.model = Counting()
        self.store = SQLiteVectorStore(self.model)
        self.pipeline = RagPipeline(
            store=self.store, splitter=CJKRecursiveTextSplitter(50, 0)
        )
        self.opened = 0
        self.log = []

    def write(self, name, text="Text."):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return os.fspath(path)

    def changes(self, *turns):
        """Each turn: seconds that pass, then what happens, which gives paths or None."""

        def play():
            self.opened += 1
            try:
                yield set()
                for seconds, action in turns:
                    self.clock.now += seconds
                    paths = action() if action else None
                    yield {paths} if isinstance(paths, str) else set(paths or ())
            finally:
                self.opened -= 1

        return play

    def reports(self, *turns, stable=1.0, path=None, **keywords):
        keywords = {"delete_missing": True, **keywords}
        folder = Folder(
            self.store,
            self.pipeline.splitter,
            path or self.root,
            Choice(None, keywords.pop("exclude", None)),
            **keywords,
        )
        changes = self.changes(*turns)
        return follow(folder, changes, stable, self.stop, self.clock)

    def names(self):
        return sorted(Path(source).name for source in self.store.distinct("source"))


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path / "docs")
    scene.write("a.txt", "Green tea.")
    return scene


def test_first_all_of_it_then_a_report_a_batch(scene):
    first, second = scene.reports(
        (0.1, lambda: scene.write("b.txt")),
        (0.1, lambda: scene.write("c.txt")),
        (0.5, None),
        (0.5, None),
        (9.0, None),
    )
    assert (first.loaded, second.loaded, second.unchanged) == (1, 2, 1)
    assert scene.names() == ["a.txt", "b.txt", "c.txt"]


def test_a_file_that_grows_is_waited_for(scene):
    turns = [(0.6, lambda n=n: scene.write("b.txt", "More. " * (n + 1))) for n in range(5)]
    reports = scene.reports(*turns, (0.9, None), (0.2, None), (1.0, None))
    seen = [(report.loaded, scene.clock.now) for report in reports]
    assert seen == [(1, 1_000.0), (1, pytest.approx(1_004.1))]
    assert len(scene.model.batches) == 2


def test_growth_that_nobody_tells_of_is_seen(scene):
    """An event for the first bytes alone; the size goes on changing."""

    def silently():
        scene.write("b.txt", "Longer than before.")

    _, second = scene.reports(
        (0.0, lambda: scene.write("b.txt")),
        (0.9, silently),
        (0.9, None),
        (0.2, None),
        (5.0, None),
    )
    assert second.loaded == 1
    assert "Longer than before." in {d.page_content for d in scene.store.get()}
    assert len(scene.model.batches) == 2


def test_stable_files_do_not_wait_for_ever(scene):
    """A log grows all the time; after ten times as long it is left out."""
    log = [(0.5, lambda n=n: scene.write("log.txt", "line\n" * (n + 1))) for n in range(40)]
    reports = scene.reports((0.0, lambda: scene.write("b.txt")), *log, (1.0, None))
    next(reports)
    report = next(reports)
    assert (report.loaded, scene.names()) == (1, ["a.txt", "b.txt"])
    assert scene.clock.now == pytest.approx(1_010.0)
    (report,) = reports
    assert (report.loaded, scene.names()) == (1, ["a.txt", "b.txt", "log.txt"])


def test_removed_and_renamed_files(scene):
    def rename():
        (scene.root / "a.txt").rename(scene.root / "z.txt")
        return [os.fspath(scene.root / name) for name in ("a.txt", "z.txt")]

    def remove():
        (scene.root / "z.txt").unlink()
        return os.fspath(scene.root / "z.txt")

    _, renamed, removed = scene.reports((0, rename), (1, None), (0, remove), (1, None))
    assert (renamed.loaded, renamed.removed) == (1, 1)
    assert (removed.loaded, removed.removed, len(scene.store)) == (0, 1, 0)


def test_without_delete_missing_they_stay(scene):
    def remove():
        (scene.root / "a.txt").unlink()
        return os.fspath(scene.root / "a.txt")

    (_,) = scene.reports((0, remove), (1, None), (1, None), delete_missing=False)
    assert scene.names() == ["a.txt"]


@pytest.mark.parametrize("folder", [False, True])
def test_a_single_file_that_is_gone(scene, folder):
    path = scene.root / "a.txt"

    def remove():
        path.unlink()
        if folder:
            scene.write("a.txt/inside.txt")
        return os.fspath(path)

    def back():
        if folder:
            shutil.rmtree(path)
        return scene.write("a.txt", "Black tea.")

    turns = [(0, remove), (1, None), (400, None), (0, back), (1, None)]
    scene.write("b.txt")
    first, gone, again = scene.reports(*turns, path=path)
    assert (first.loaded, gone.removed, gone.deleted, gone.errors) == (1, 1, 1, ())
    assert (again.loaded, again.added, scene.names()) == (1, 1, ["a.txt"])


def test_a_single_file_whose_folder_is_gone_keeps_its_chunks(scene):
    path = scene.root / "a.txt"

    def remove():
        shutil.rmtree(scene.root)
        return os.fspath(path)

    _, report = scene.reports((0, remove), (1, None), path=path)
    assert (report.removed, len(report.errors), scene.names()) == (0, 1, ["a.txt"])


def test_a_single_file_that_is_gone_without_delete_missing(scene):
    path = scene.root / "a.txt"

    def remove():
        path.unlink()
        return os.fspath(path)

    turns = [(0, remove), (1, None), (400, None)]
    assert len(list(scene.reports(*turns, path=path, delete_missing=False))) == 1
    assert scene.names() == ["a.txt"]


def test_what_changes_nothing_is_not_reported(scene):
    def touch():
        os.utime(scene.root / "a.txt")
        return os.fspath(scene.root / "a.txt")

    def passing():
        path = scene.write("passing.txt")
        Path(path).unlink()
        return path

    assert len(list(scene.reports((0, touch), (1, None), (0, passing), (1, None)))) == 1


def test_a_broken_file_is_reported_and_the_next_change_mends_it(scene):
    def mend():
        (scene.root / "b.pdf").write_bytes(office.make_pdf(["Mended."]))
        return os.fspath(scene.root / "b.pdf")

    broken, mended = list(
        scene.reports(
            (0, lambda: scene.write("b.pdf", "%PDF-1.7\n")),
            (1, None),
            (0, mend),
            (1, None),
        )
    )[1:]
    assert [Path(error.path).name for error in broken.failed] == ["b.pdf"]
    assert (mended.loaded, mended.failed) == (1, ())


def test_a_model_that_is_down_is_asked_less_and_less(scene, monkeypatch):
    attempts = []

    def fail(self, name, texts):
        attempts.append(scene.clock.now - 1_000)
        raise ConnectionError("no route")

    original = Counting._documents
    monkeypatch.setattr(Counting, "_documents", fail)
    reports = scene.reports(*[(0.5, None)] * 14, (0.5, monkeypatch.undo), (9, None))
    first = next(reports)
    ((path, error),) = first.errors
    assert (Path(path).name, type(error)) == ("a.txt", EmbeddingUnreachableError)
    assert "a.txt was not stored: EmbeddingUnreachableError" in str(first)
    *failing, last = reports
    assert attempts == [0, 1, 3, 7]
    assert len(failing) == 3
    assert Counting._documents is original
    assert (last.loaded, last.errors) == (1, ())


def test_a_change_is_a_reason_to_try_again(scene, monkeypatch):
    def fail(self, name, texts):
        raise ConnectionError("no route")

    monkeypatch.setattr(Counting, "_documents", fail)
    reports = scene.reports((0.1, lambda: scene.write("b.txt")), (0.3, None), stable=0.2)
    assert len(next(reports).errors) == 1
    monkeypatch.undo()
    (report,) = reports
    assert report.loaded == 2


def test_one_poisonous_file_does_not_block_the_others(scene, monkeypatch):
    original = Counting._documents

    def fail(self, name, texts):
        if any("poison" in text for text in texts):
            raise ValueError("too long")
        return original(self, name, texts)

    monkeypatch.setattr(Counting, "_documents", fail)
    scene.write("b.txt", "poison")
    scene.write("c.txt")
    (report,) = scene.reports()
    assert ([Path(path).name for path, _ in report.errors], report.loaded) == (["b.txt"], 2)


def test_many_poisonous_files_do_not_either(scene, monkeypatch):
    """Three in a row put the rest off; at the next turn they come last."""
    original = Counting._documents

    def fail(self, name, texts):
        if any("poison" in text for text in texts):
            raise ValueError("too long")
        return original(self, name, texts)

    monkeypatch.setattr(Counting, "_documents", fail)
    for n in range(3):
        scene.write(f"0{n}.txt", "poison")
    first, second = list(scene.reports((1.5, None)))
    assert (len(first.errors), first.loaded) == (3, 0)
    assert (len(second.errors), second.loaded) == (3, 1)


def test_a_dead_model_is_not_asked_for_every_file(scene, monkeypatch):
    def fail(self, name, texts):
        raise ConnectionError("no route")

    monkeypatch.setattr(Counting, "_documents", fail)
    for n in range(9):
        scene.write(f"{n}.txt")
    (report,) = scene.reports()
    assert len(report.errors) == 3


def test_a_folder_that_is_away_for_a_while(scene):
    away = scene.root.with_name("away")

    def leave():
        scene.root.rename(away)
        return os.fspath(scene.root)

    def come_back():
        away.rename(scene.root)
        scene.write("b.txt")
        return os.fspath(scene.root)

    _, gone, back = scene.reports((0, leave), (1, None), (0.5, come_back), (1, None))
    ((path, error),) = gone.errors
    assert (path, type(error)) == (os.fspath(scene.root), InvalidInputError)
    assert (back.loaded, back.removed) == (1, 0)
    assert scene.names() == ["a.txt", "b.txt"]


def test_a_closed_store_ends_it(scene):
    reports = scene.reports((0, lambda: scene.write("b.txt")), (1, None))
    next(reports)
    scene.store.close()
    with pytest.raises(StoreClosedError):
        next(reports)
    assert scene.opened == 0


# --- ending -----------------------------------------------------------------------------


def test_close_and_stop_leave_nothing(scene):
    reports = scene.reports((1, None))
    next(reports)
    assert scene.opened == 1
    reports.close()
    assert scene.opened == 0
    scene.stop.set()
    assert list(scene.reports((1, None))) == []
    assert scene.opened == 0


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["waiting", "working"])
def test_an_interrupt_ends_it(scene, monkeypatch, where):
    if where == "working":
        monkeypatch.setattr(Counting, "_documents", interrupt)
        assert list(scene.reports((1, None))) == []
    else:
        assert len(list(scene.reports((1, interrupt)))) == 1
    assert scene.opened == 0
    monkeypatch.undo()
    assert scene.pipeline.ingest_path(scene.root).failed == ()
    assert scene.names() == ["a.txt"]


def test_stop_is_heard_between_files(scene, monkeypatch):
    original = Counting._documents

    def stopping(self, name, texts):
        scene.stop.set()
        return original(self, name, texts)

    monkeypatch.setattr(Counting, "_documents", stopping)
    scene.write("b.txt")
    (report,) = scene.reports((1, None))
    assert report.loaded == 1


# --- the pipeline's method, and what is listened to ---------------------------------------


def test_wrong_input_is_refused_at_once(scene, monkeypatch):
    watch = scene.pipeline.watch
    for seconds in (-1, float("nan"), "1", True):
        with pytest.raises(InvalidInputError, match="stable_seconds"):
            watch(scene.root, stable_seconds=seconds)
    with pytest.raises(InvalidInputError, match="no file or folder"):
        watch(scene.root / "absent")
    with pytest.raises(InvalidInputError, match="relative"):
        watch(scene.root, "/x")
    foreign = RagPipeline(store=InMemoryVectorStore(Counting()))
    with pytest.raises(InvalidInputError, match="delete_missing=False"):
        foreign.watch(scene.root)
    foreign.watch(scene.root, delete_missing=False).close()

    original = builtins.__import__

    def without(name, *rest):
        if name == "watchfiles":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"langchain-ragstore\[watch\]"):
        watch(scene.root)


class FakeLibrary:
    """Stands in for watchfiles: plays events through the filter."""

    class Change:
        added, modified, deleted = 1, 2, 3

    def __init__(self, *plays):
        self.plays = list(plays)
        self.calls = []

    def watch(self, target, **keywords):
        self.calls.append((target, keywords["recursive"]))
        for events in self.plays.pop(0):
            found = events() if callable(events) else events
            yield {e for e in found if keywords["watch_filter"](*e)}


def folder_of(scene, path=None, exclude=None, include=None):
    return Folder(scene.store, None, path or scene.root, Choice(include, exclude))


def heard(scene, *events, **keywords):
    library = FakeLibrary([{(kind, os.fspath(scene.root / name)) for kind, name in events}])
    folder = folder_of(scene, **keywords)
    found = list(changes_on_disk(library, folder, 0.1, threading.Event()))
    return sorted(os.path.relpath(path, scene.root) for paths in found for path in paths)


def test_what_is_listened_to(scene):
    (scene.root / "sub" / ".hid").mkdir(parents=True)
    kind = FakeLibrary.Change
    wanted = [(kind.added, "a.txt"), (kind.modified, "sub/x.md"), (kind.deleted, "was")]
    wanted += [(kind.added, "sub"), (kind.deleted, ".")]
    unwanted = [(kind.added, "x.png"), (kind.added, "~$a.docx"), (kind.added, ".git/x.txt")]
    unwanted += [(kind.added, "out/x.txt"), (kind.deleted, "out"), (kind.added, "../b.txt")]
    unwanted += [(kind.deleted, ".hidden"), (kind.added, "sub/.hid")]
    found = heard(scene, *wanted, *unwanted, exclude="out")
    assert found == sorted(name for _, name in wanted)


def test_the_store_is_not_listened_to(scene):
    with SQLiteVectorStore(Counting(), scene.root / "kb.db") as store:
        scene.store = store
        names = ["kb.db", "kb.db-wal", "kb.db-shm", "kb.db-journal"]
        events = [(kind, name) for name in names for kind in (2, 3)]
        assert heard(scene, *events, include="**/*") == []


def test_a_single_file_is_watched_through_its_folder(scene):
    """An editor puts another file in its place."""
    library = FakeLibrary([[(2, f"{scene.root}/a.txt"), (2, f"{scene.root}/b.txt")]])
    library.plays = [[{(2, f"{scene.root}/a.txt"), (2, f"{scene.root}/b.txt")}]]
    folder = folder_of(scene, scene.root / "a.txt")
    found = list(changes_on_disk(library, folder, 0.1, threading.Event()))
    assert found == [{f"{scene.root}/a.txt"}]
    assert library.calls == [(scene.root, False)]


def test_a_folder_that_comes_back_is_watched_anew(scene):
    """Another folder of the same name: the system tells nothing of it by itself."""
    stop = threading.Event()

    def leave():
        shutil.rmtree(scene.root)
        return [(FakeLibrary.Change.deleted, os.fspath(scene.root))]

    library = FakeLibrary([leave, set()], [set()])
    ticks = changes_on_disk(library, folder_of(scene), 0.01, stop)
    root = {os.fspath(scene.root)}
    assert [next(ticks) for _ in range(4)] == [root, root, set(), set()]
    scene.write("b.txt")
    assert next(ticks) == set()
    assert list(ticks) == []
    assert len(library.calls) == 2
    stop.set()
    assert list(changes_on_disk(library, folder_of(scene), 0.01, stop)) == []


def test_pending_knows_what_is_still_changing(tmp_path):
    pending = Pending(1.0)
    path = tmp_path / "f"
    pending.note({os.fspath(path)}, 0.0)
    assert pending.take(0.9) is None
    path.write_text("x")
    pending.note(set(), 1.0)
    assert pending.take(1.9) is None
    assert pending.take(2.0) == frozenset()
    assert pending.take(9.0) is None


@pytest.mark.slow
def test_with_the_real_watchfiles(tmp_path):
    pytest.importorskip("watchfiles")
    scene = Scene(tmp_path / "docs")
    scene.write("a.txt", "Green tea.")
    threads = set(threading.enumerate())
    before = descriptors()
    stop = threading.Event()
    reports = scene.pipeline.watch(scene.root, stable_seconds=0.2, stop_event=stop)
    assert next(reports).loaded == 1
    scene.write("b.txt", "Black tea.")
    assert next(reports).loaded == 1
    scene.write("sub/c.txt", "In a new folder.")
    while "c.txt" not in scene.names():
        next(reports)
    (scene.root / "b.txt").unlink()
    assert next(reports).removed == 1
    shutil.move(scene.root / "sub", tmp_path / "elsewhere")
    assert next(reports).removed == 1
    timer = threading.Timer(0.5, stop.set)
    timer.start()
    assert list(reports) == []
    timer.join()
    assert set(threading.enumerate()) == threads
    deadline = time.monotonic() + 10
    while descriptors() > before:  # the system's watch ends in a thread of its own
        assert time.monotonic() < deadline


INTERRUPTED = """
import os, signal, sys, threading
from langchain_ragstore import HashingEmbeddings, RagPipeline
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
for report in RagPipeline(HashingEmbeddings()).watch(sys.argv[1], stable_seconds=0.2):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
print("ended", report.loaded)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_real_interrupt(tmp_path):
    import subprocess

    pytest.importorskip("watchfiles")
    scene = Scene(tmp_path / "docs")
    scene.write("a.txt")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(scene.root)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("ended 1\n", 0), done.stderr


def descriptors():
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0
