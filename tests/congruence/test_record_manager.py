"""Two record managers on one file do what LangChain's in memory does, step by step."""

import itertools
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from langchain_core.indexing import InMemoryRecordManager

from langchain_ragstore import SQLiteRecordManager

keys = st.lists(st.sampled_from(["a", "b", "c\x00", "d\ud800", "", "海"]), max_size=5)
groups = st.sampled_from([None, "g", "h\udfff", ""])
which = st.integers(0, 1)


class Counting(InMemoryRecordManager):
    """The oracle, whose time is a number that grows with every look at it."""

    def __init__(self, namespace) -> None:
        super().__init__(namespace)
        self.count = itertools.count(1)

    def get_time(self):
        return float(next(self.count))


class Managers(RuleBasedStateMachine):
    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name) / "rag.db")
        self.nows = [1_000.0, 1_000.0]
        self.managers = [self.manager(0), self.manager(1)]
        self.other = SQLiteRecordManager("other", self.path)
        self.other.update(["a", "kept"], group_ids=["g", "g"])
        self.oracle = Counting("n")
        self.moments = []
        self.mark(0)

    def manager(self, which):
        return SQLiteRecordManager("n", self.path, clock=lambda: self.nows[which])

    @rule(which=which, seconds=st.sampled_from([-500.0, -1e-9, 0.0, 1e-7, 0.5, 60.0]))
    def turn_a_clock(self, which, seconds):
        self.nows[which] += seconds

    @rule(which=which)
    def mark(self, which):
        moment = self.managers[which].get_time(), self.oracle.get_time()
        assert all(earlier < moment[0] for earlier, _ in self.moments)
        self.moments.append(moment)

    @rule(which=which, keys=keys, data=st.data(), grouped=st.booleans())
    def update(self, which, keys, data, grouped):
        given = None
        if grouped:
            given = data.draw(st.lists(groups, min_size=len(keys), max_size=len(keys)))
        ours, theirs = data.draw(st.sampled_from([(None, None), *self.moments]))
        self.managers[which].update(keys, group_ids=given, time_at_least=ours)
        self.oracle.update(keys, group_ids=given, time_at_least=theirs)

    @rule(which=which, keys=keys)
    def delete_keys(self, which, keys):
        self.managers[which].delete_keys(keys)
        self.oracle.delete_keys(keys)

    @rule(which=which)
    def reopen(self, which):
        self.managers[which].close()
        self.managers[which] = self.manager(which)

    @rule(
        which=which,
        data=st.data(),
        group_ids=st.one_of(st.none(), st.lists(groups.filter(lambda g: g is not None))),
        limit=st.one_of(st.none(), st.integers(0, 3)),
    )
    def list_keys(self, which, data, group_ids, limit):
        moments = st.sampled_from([(None, None), (0, 0), *self.moments])
        before, after = data.draw(moments), data.draw(moments)
        manager = self.managers[which]
        found, expected = (
            one.list_keys(before=before[at], after=after[at], group_ids=group_ids)
            for at, one in enumerate([manager, self.oracle])
        )
        assert len(found) == len(set(found))
        assert set(found) == set(expected)
        some = manager.list_keys(
            before=before[0], after=after[0], group_ids=group_ids, limit=limit
        )
        assert some == (found[:limit] if limit else found)

    @rule(which=which, keys=keys)
    def exists(self, which, keys):
        assert self.managers[which].exists(keys) == self.oracle.exists(keys)

    @invariant()
    def other_namespaces_are_left_alone(self):
        assert self.other.list_keys(group_ids=["g"]) == ["a", "kept"]

    def teardown(self):
        for manager in (*self.managers, self.other):
            manager.close()
        self.folder.cleanup()


TestManagers = Managers.TestCase
TestManagers.settings = settings(stateful_step_count=30)
