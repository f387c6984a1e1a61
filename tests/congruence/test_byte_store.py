"""Two byte stores on one database do what a dictionary does, limits and lifetimes included."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from fakes import Clock
from langchain_ragstore import SQLiteByteStore
from langchain_ragstore.storage.sqlite.schema import opened

KEYS = [
    "",
    "a",
    "a%",
    "a%b",
    "a_",
    "a*",
    "ab",
    "a\x00",
    "\ud83d",
    "😀",
    "😀x",
    "\uffff",
    "海",
]
keys = st.one_of(st.sampled_from(KEYS), st.text(max_size=3))
values = st.binary(max_size=12)
LIMIT = 30


class Stores(RuleBasedStateMachine):
    @initialize(limits=st.tuples(*[st.sampled_from([None, LIMIT])] * 2))
    def open(self, limits):
        self.database = opened()
        self.clock = Clock()
        ttls = [None, 10.0]
        self.options = list(zip(ttls, limits, strict=True))
        self.stores = [
            SQLiteByteStore(
                self.database, "n", ttl_seconds=ttl, max_bytes=most, clock=self.clock
            )
            for ttl, most in self.options
        ]
        self.other = SQLiteByteStore(self.database, "other")
        self.other.mset([("a", b"kept")])
        self.model = {}  # key → value, created, expires; in the order of writing

    which = st.integers(0, 1)

    def forget_expired(self):
        for key, (_, _, expires) in list(self.model.items()):
            if expires is not None and expires <= self.clock.now:
                del self.model[key]

    @rule(which=which, pairs=st.lists(st.tuples(keys, values), max_size=6))
    def mset(self, which, pairs):
        self.stores[which].mset(pairs)
        ttl, most = self.options[which]
        now = self.clock.now
        for key, value in pairs:
            created = self.model.pop(key, (None, now))[1]
            self.model[key] = value, created, None if ttl is None else now + ttl
        while pairs and most and sum(len(v) for v, *_ in self.model.values()) > most:
            del self.model[next(iter(self.model))]

    @rule(which=which, keys=st.lists(keys, max_size=6))
    def mdelete(self, which, keys):
        self.stores[which].mdelete(keys)
        for key in keys:
            self.model.pop(key, None)

    @rule(seconds=st.sampled_from([1.0, 9.5, 10.0]))
    def wait(self, seconds):
        self.clock.now += seconds
        self.forget_expired()

    @precondition(lambda self: self.model)
    @rule(which=which, keys=st.lists(keys, max_size=6))
    def mget(self, which, keys):
        wanted = [*self.model, *keys, *self.model]
        expected = [self.model.get(key, (None,))[0] for key in wanted]
        assert self.stores[which].mget(wanted) == expected

    @rule(which=which, prefix=st.one_of(st.none(), keys))
    def yield_keys(self, which, prefix):
        expected = sorted(k for k in self.model if k.startswith(prefix or ""))
        assert list(self.stores[which].yield_keys(prefix=prefix)) == expected

    @invariant()
    def times_are_kept(self):
        found = self.stores[0].timestamps(self.model)
        assert {
            key: (
                times.created_at.timestamp(),
                times.expires_at and times.expires_at.timestamp(),
            )
            for key, times in found.items()
        } == {key: facts[1:] for key, facts in self.model.items()}

    @invariant()
    def other_namespaces_are_left_alone(self):
        assert self.other.mget(["a"]) == [b"kept"]

    def teardown(self):
        self.database.close()


TestStores = Stores.TestCase
TestStores.settings = settings(stateful_step_count=30)
