"""The record manager alone: its keys, its times, what it refuses."""

import subprocess
import sys
import threading

import pytest
from langchain_core.indexing import RecordManager

from fakes import Clock, Counting
from langchain_ragstore import SQLiteRecordManager, SQLiteVectorStore
from langchain_ragstore.errors import InvalidInputError, StoreClosedError


@pytest.fixture(params=["file", "memory", "store"])
def manager(request, tmp_path):
    if request.param == "store":
        with SQLiteVectorStore(Counting()) as store:
            yield SQLiteRecordManager("kb", store._database)
        return
    path = tmp_path / "rag.db" if request.param == "file" else ":memory:"
    with SQLiteRecordManager("kb", path) as manager:
        yield manager


# --- the ledger ----------------------------------------------------------------------


def test_it_is_a_record_manager(manager):
    assert isinstance(manager, RecordManager)
    assert manager.namespace == "kb"
    for _ in range(2):
        manager.create_schema()


def test_update_exists_list_delete(manager):
    manager.update(["a", "b", "a"], group_ids=["g", "h", "i"])
    assert manager.exists(["b", "x", "a", "b"]) == [True, False, True, True]
    assert manager.exists("a") == [True]  # a bare string is one key
    assert manager.list_keys() == ["a", "b"]
    assert manager.list_keys(group_ids=["g"]) == []  # the last of equal keys counts
    assert manager.list_keys(group_ids=["i", "x"]) == ["a"]
    manager.update(["a"])
    assert manager.list_keys() == ["b", "a"]  # updated longest ago first
    assert manager.list_keys(group_ids=["i"]) == []
    manager.delete_keys(["a", "x"])
    manager.delete_keys([])
    assert manager.list_keys() == ["b"]
    assert manager.exists([]) == []


def test_times_are_strict_and_one_a_call(manager):
    manager.update(["a", "b"])
    between = manager.get_time()
    manager.update(["c"])
    assert manager.list_keys(before=between) == ["a", "b"]
    assert manager.list_keys(after=between) == ["c"]
    with manager._lease.read() as connection:
        statement = "SELECT updated_at FROM ragstore_ledger ORDER BY key"
        (first,), (second,), _ = connection.execute(statement).fetchall()
    assert first == second < between
    assert manager.list_keys(before=first) == []
    assert manager.list_keys(after=first) == ["c"]


def test_unset_conditions(manager):
    manager.update(["a", "b"], group_ids=["g", None])
    assert manager.list_keys(before=0, after=0, group_ids=[], limit=0) == ["a", "b"]
    assert manager.list_keys(limit=1) == ["a"]
    assert manager.list_keys(limit=10**30) == ["a", "b"]
    assert manager.list_keys(before=float("inf"), after=-1.0) == ["a", "b"]


def test_more_keys_and_groups_than_a_statement_takes(manager):
    keys = [f"k{n:04}" for n in range(1_500)]
    manager.update(keys, group_ids=[f"g{n % 700}" for n in range(1_500)])
    manager.update(["k0001"], group_ids=["g1"])
    assert all(manager.exists(keys))
    groups = [f"g{n}" for n in range(699)]
    expected = [k for n, k in enumerate(keys) if n % 700 != 699 and n != 1] + ["k0001"]
    assert manager.list_keys(group_ids=groups) == expected
    assert manager.list_keys(group_ids=groups, limit=900) == expected[:900]
    manager.delete_keys(keys[:-1])
    assert manager.list_keys() == keys[-1:]


def test_any_text_is_a_key(tmp_path):
    odd = ["", "\ud800", "a\x00b", "海", "😀", "x" * 10_000]
    for _ in range(2):
        with SQLiteRecordManager("n\udfff", tmp_path / "rag.db") as manager:
            manager.update(odd, group_ids=odd)
            assert manager.exists(odd) == [True] * len(odd)
            assert manager.list_keys() == sorted(odd)
            for key in odd:
                assert manager.list_keys(group_ids=[key]) == [key]


def test_namespaces(tmp_path):
    with (
        SQLiteRecordManager("a", tmp_path / "rag.db") as a,
        SQLiteRecordManager("b", tmp_path / "rag.db") as b,
    ):
        a.update(["k"], group_ids=["g"])
        assert (a.exists(["k"]), b.exists(["k"])) == ([True], [False])
        b.delete_keys(["k"])
        assert b.list_keys(group_ids=["g"]) == []
        assert a.list_keys(group_ids=["g"]) == ["k"]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda m: m.update(["a", "b"], group_ids=["g"]), "2 keys but 1 group_ids"),
        (lambda m: m.update(["a"], group_ids=[]), "1 keys but 0 group_ids"),
        (lambda m: m.update([], group_ids=["g"]), "0 keys but 1 group_ids"),
        (lambda m: m.update(["a", 1]), r"keys are strings, got 1 \(int\)"),
        (lambda m: m.update(["a"], group_ids=[True]), "group_ids are strings, got True"),
        (lambda m: m.update(["a"], group_ids=[2.0]), "group_ids are strings, got 2.0"),
        (lambda m: m.update(["a"], time_at_least=4e9), "time_at_least is 4000000000.0"),
        (lambda m: m.update(["a"], time_at_least="now"), "time_at_least is seconds"),
        (lambda m: m.list_keys(before="2024"), "before is seconds since the epoch"),
        (lambda m: m.list_keys(after=float("nan")), "after is seconds since the epoch"),
        (lambda m: m.update(["a"], time_at_least=10**400), "time_at_least is inf"),
        (lambda m: m.list_keys(group_ids=[None]), "group_ids are strings, got None"),
        (lambda m: m.list_keys(limit=-1), "limit must not be negative"),
        (lambda m: m.list_keys(limit="1"), "limit must be an integer"),
        (lambda m: m.exists([None]), "keys are strings"),
        (lambda m: m.delete_keys([b"a"]), "keys are strings"),
    ],
)
def test_what_is_refused(manager, use, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        use(manager)
    assert isinstance(caught.value, ValueError)
    assert manager.list_keys() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"namespace": ""}, "namespace must be a non-empty string"),
        ({"namespace": None}, "namespace must be a non-empty string"),
        ({"store": "kb.db"}, "must be a LangChain VectorStore, got a str"),
    ],
)
def test_arguments_are_checked_before_a_file_is_made(tmp_path, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        SQLiteRecordManager(**{"namespace": "n", "path": tmp_path / "rag.db", **arguments})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("db_url", "path"), ("engine", "path"), ("vector_store", "store"), ("stor", "store")],
)
def test_unknown_keywords(wrong, right):
    with pytest.raises(TypeError, match=f"'{wrong}'; did you mean '{right}'"):
        SQLiteRecordManager("n", **{wrong: None})


def test_after_close(tmp_path):
    manager = SQLiteRecordManager("n", tmp_path / "rag.db")
    manager.close()
    manager.close()
    uses = [manager.create_schema, manager.get_time, manager.list_keys]
    for use in (*uses, lambda: manager.exists(["a"]), lambda: manager.update(["a"])):
        with pytest.raises(StoreClosedError, match="is closed; open it anew"):
            use()
    assert [p.name for p in tmp_path.iterdir()] == ["rag.db"]


# --- the clock -----------------------------------------------------------------------


def test_a_clock_that_stands_still_or_goes_back(tmp_path):
    clock = Clock(1_700_000_000.0)
    with SQLiteRecordManager("n", tmp_path / "rag.db", clock=clock) as manager:
        first = manager.get_time()
        assert first == clock.now
        times = [first]
        for step in (0, 0, -1e9, 0, 1e-9, 1e9, 3600):
            clock.now += step
            manager.update(["k"], time_at_least=times[-1])
            times.append(manager.get_time())
        assert times == sorted(set(times))
        assert times[3] - times[0] < 1e-5  # as close as floats can be
        assert 0 < times[-1] - clock.now < 1e-6  # a clock that is ahead is followed


def test_a_restart_with_the_clock_put_back(tmp_path):
    """A time that was only given out, and the time of a key that is gone, count, too."""
    clock = Clock(5_000.0)
    with SQLiteRecordManager("n", tmp_path / "rag.db", clock=clock) as manager:
        manager.update(["k"])
        manager.delete_keys(["k"])
        given = manager.get_time()
    clock.now = 10.0
    with SQLiteRecordManager("n", tmp_path / "rag.db", clock=clock) as manager:
        manager.update(["k"], time_at_least=given)
        assert manager.list_keys(before=given) == []
        assert manager.list_keys(after=given) == ["k"]
        assert manager.get_time() > given


def test_threads_get_different_times(manager):
    times = []

    def take():
        for _ in range(25):
            manager.update(["k"])
            times.append(manager.get_time())

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(times)) == 100
    assert manager.list_keys(before=max(times)) == ["k"]


WORKER = """
import sys, time
from langchain_ragstore import SQLiteRecordManager
path, shift = sys.argv[1], float(sys.argv[2])
with SQLiteRecordManager("n", path, clock=lambda: time.time() + shift) as manager:
    for line in sys.stdin:
        word, key = line.split()
        if word == "update":
            manager.update([key])
        print(repr(manager.get_time()), flush=True)
"""


@pytest.mark.parametrize("shift", [-3600.0, 0.0, 3600.0])
def test_two_processes(tmp_path, shift):
    """Whichever clock is ahead: what was updated before is earlier, after is later."""
    path = tmp_path / "rag.db"
    with (
        SQLiteRecordManager("n", path) as manager,
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), str(shift)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):

        def there(line):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            return float(process.stdout.readline())

        times = []
        for n in range(20):
            times += [there(f"update a{n}"), manager.get_time()]
            assert manager.list_keys(before=times[-1], after=times[-3] if n else None) == [
                f"a{n}"
            ]
            manager.update([f"b{n}"])
            times.append(there("time now"))
            assert manager.list_keys(before=times[-1], after=times[-2]) == [f"b{n}"]
        assert times == sorted(set(times))
        process.stdin.close()
        assert process.wait(timeout=60) == 0


# --- defects that other record managers have -----------------------------------------


def test_importing_needs_no_sqlalchemy_and_no_greenlet():
    code = (
        "import sys; sys.modules['sqlalchemy'] = sys.modules['greenlet'] = None\n"
        "from langchain_ragstore import SQLiteRecordManager\n"
        "SQLiteRecordManager('n').update(['k'])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_updating_no_keys_does_nothing(manager):
    manager.update([])
    manager.update([], group_ids=[], time_at_least=manager.get_time() + 1e6)
    assert manager.list_keys() == []


def test_a_key_updated_just_before_a_time_is_before_it(manager):
    for n in range(500):
        manager.update([f"k{n}"])
        moment = manager.get_time()
        assert len(manager.list_keys(before=moment)) == n + 1
        assert manager.list_keys(after=moment) == []


async def test_every_method_has_an_async_twin_that_works(manager):
    await manager.acreate_schema()
    start = await manager.aget_time()
    await manager.aupdate(["a", "b"], group_ids=["g", None], time_at_least=start)
    assert await manager.aexists(["a", "x"]) == [True, False]
    assert await manager.alist_keys(after=start, group_ids=["g"], limit=5) == ["a"]
    assert await manager.alist_keys(before=start) == []
    await manager.adelete_keys(["a"])
    assert manager.list_keys() == ["b"]
    with pytest.raises(InvalidInputError, match="1 keys but 0 group_ids"):
        await manager.aupdate(["a"], group_ids=[])
