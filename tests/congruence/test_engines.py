"""The SQLite engine, opened twice on one file, does what the oracle does, step by step."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from codes import check_codes, rebuild_codes
from langchain_ragstore.errors import ConflictError, InvalidInputError
from langchain_ragstore.filters import EVERYTHING, parse
from langchain_ragstore.model import Alternatives, Fingerprint, Record, Terms, Unanalyzed
from langchain_ragstore.storage.memory import MemoryBackend
from langchain_ragstore.storage.sqlite import coding
from langchain_ragstore.storage.sqlite.backend import SQLiteBackend
from langchain_ragstore.text.analyzer import DEFAULT_ANALYZER
from langchain_ragstore.vectors.arrays import unit_matrix
from records import facts
from strategies import clashing, filters, share

collections = st.sampled_from(["one", "two"])
ids = st.sampled_from(["a", "b", "c", "d", "e\x00"])
vectors = st.one_of(
    st.none(),
    st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=3, max_size=3),
)
wrong_vectors = st.just([1.0, 1.0])
metadatas = st.dictionaries(st.sampled_from(["a", "b"]), clashing, max_size=2)
expiries = st.sampled_from([None, None, 5.0, 20.0])


def unit(vector):
    return None if vector is None else unit_matrix([vector])[0]


words = st.sampled_from(["cat", "dog", "a b", "東", "東京", "京都", "都\ud800", ""])
counts = st.dictionaries(words, st.sampled_from([1, 1, 2, 300]), max_size=4)
groups = st.builds(
    Alternatives, counts, st.lists(counts, max_size=2).map(tuple), st.booleans()
)
makers = st.sampled_from(["", "", "", "other"])
bags = st.builds(Terms, counts, st.one_of(st.just({}), counts), st.just(()), makers)


class Unnamed:
    """The default analysis under the name that terms have here by default."""

    description = ""
    keys_of = DEFAULT_ANALYZER.keys_of

    def index_terms(self, text, title=""):
        return replace(DEFAULT_ANALYZER.index_terms(text, title), analyzer="")


UNNAMED = Unnamed()
texts = st.lists(words, max_size=6).map(", ".join)
unread = st.builds(Unanalyzed, texts, st.one_of(st.just(""), texts), st.just(UNNAMED))

queries = st.builds(
    Terms,
    counts,
    counts,
    st.one_of(st.just(()), st.lists(groups, max_size=2).map(tuple)),
    makers,
)

digests = st.sampled_from([None, b"1", b"2", b"3"])
models = st.sampled_from(
    [None, *(Fingerprint(f"m{n}", probe) for n, probe in enumerate(np.eye(2, dtype="f4")))]
)

records = st.builds(
    lambda id, text, metadata, vector, expiry, terms, digest: Record(
        id, text, metadata, unit(vector), expires_at=expiry, terms=terms, digest=digest
    ),
    ids,
    st.sampled_from(["x", "y\ud800", ""]),
    metadatas,
    st.one_of(vectors, vectors, vectors, wrong_vectors),
    expiries,
    st.one_of(st.none(), bags, unread, unread),
    digests,
)
batches = st.lists(records, max_size=4, unique_by=lambda record: record.id)


def outcome(action):
    """What an action returns, or the class of the error it raises."""
    try:
        return action()
    except (ConflictError, InvalidInputError) as error:
        return type(error)


def model_facts(engine, name):
    """The model's name, and what is known under every model there may be."""
    model = engine.fingerprint(name)
    probes = [None, *(Fingerprint("?", probe) for probe in np.eye(2, dtype="f4"))]
    return model and model.name, [
        sorted(
            (digest, vector.tobytes())
            for digest, vector in engine.known(name, [b"1", b"2", b"3"], probe).items()
        )
        for probe in probes
    ]


class Engines(RuleBasedStateMachine):
    @initialize()
    def open(self):
        self.now = 0.0
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name) / "rag.db")
        self.oracle = MemoryBackend(clock=self.clock)
        self.engines = [SQLiteBackend(self.path, clock=self.clock) for _ in range(2)]

    def clock(self):
        return self.now

    def both(self, which, action):
        expected = outcome(lambda: action(self.oracle))
        assert outcome(lambda: action(self.engines[which])) == expected

    writers = st.integers(0, 1)

    @rule(which=writers, name=collections, batch=batches, remove=st.lists(ids, max_size=2))
    def upsert(self, which, name, batch, remove):
        self.both(which, lambda engine: engine.upsert(name, batch, remove=remove))

    @rule(which=writers, name=collections, batch=batches, remove=st.lists(ids, max_size=2))
    def upsert_within_a_scope(self, which, name, batch, remove):
        guard = parse({"a": {"$exists": True}, "b": {"$ne": 1}})
        self.both(
            which, lambda engine: engine.upsert(name, batch, remove=remove, guard=guard)
        )

    @rule(which=writers, name=collections, batch=batches, model=models)
    def upsert_of_a_model(self, which, name, batch, model):
        self.both(which, lambda engine: engine.upsert(name, batch, model=model))

    @rule(which=writers, name=collections, batch=batches, chosen=st.lists(ids, max_size=2))
    def upsert_of_what_was_read(self, which, name, batch, chosen):
        expected = self.oracle.get(name, list(dict.fromkeys(chosen)))
        if expected and len(batch) > 2:
            expected[0] = replace(expected[0], metadata={"a": "not this"})
        self.both(
            which,
            lambda engine: engine.upsert(name, batch, remove=chosen, expected=expected),
        )

    @rule(
        which=writers,
        name=collections,
        kept=st.dictionaries(digests.filter(bool), vectors.filter(bool), max_size=2),
        length=st.sampled_from([3, 3, 2]),
        model=models,
    )
    def keep(self, which, name, kept, length, model):
        given = {digest: unit(vector[:length]) for digest, vector in kept.items()}
        self.both(which, lambda engine: engine.keep(name, given, model))

    @rule(which=writers, name=collections, other=collections, digest=digests.filter(bool))
    def adopt(self, which, name, other, digest):
        if name != other and not self.oracle.count(other):
            self.both(which, lambda engine: engine.adopt(name, other, lambda _: digest))

    @rule(which=writers, name=collections, chosen=st.lists(ids, max_size=3), filter=filters)
    def delete(self, which, name, chosen, filter):
        where = parse(filter)
        self.both(
            which, lambda engine: engine.delete(name, ids=chosen or None, where=where)
        )

    @rule(which=writers, name=collections)
    def delete_all(self, which, name):
        self.both(which, lambda engine: engine.delete(name, ids=None, where=EVERYTHING))

    @rule(which=writers, name=collections, filter=filters, value=clashing)
    def patch(self, which, name, filter, value):
        where = parse(filter)
        self.both(
            which,
            lambda engine: engine.patch(
                name, ids=None, where=where, changes={"a": value}, remove=["b"]
            ),
        )

    @rule(
        which=writers, name=collections, vector=vectors, k=st.integers(0, 6), filter=filters
    )
    def dense(self, which, name, vector, k, filter):
        query = unit(vector or [1.0, 0.5, 0.0])
        for where in (EVERYTHING, parse(filter)):
            self.both(
                which,
                lambda engine, where=where: [
                    (facts(hit.record), hit.score, dict(hit.signals))
                    for hit in engine.dense(name, query, k, where=where, vectors=True)
                ],
            )

    @rule(
        which=writers, name=collections, query=queries, k=st.integers(0, 6), filter=filters
    )
    def lexical(self, which, name, query, k, filter):
        for where in (EVERYTHING, parse(filter)):
            self.both(
                which,
                lambda engine, where=where: [
                    (facts(hit.record), hit.score, dict(hit.signals))
                    for hit in engine.lexical(name, query, k, where=where, vectors=True)
                ],
            )

    @rule(which=writers, name=collections, made=st.dictionaries(ids, bags))
    def reindex(self, which, name, made):
        self.both(which, lambda e: e.reindex(name, lambda record: made.get(record.id)))

    @rule(which=writers, name=collections)
    def compact_text(self, which, name):
        self.engines[which].compact_text(name)

    @rule(which=writers, name=collections, chosen=st.lists(ids, max_size=4), filter=filters)
    def get_and_count(self, which, name, chosen, filter):
        where = parse(filter)
        self.both(
            which,
            lambda engine: [
                facts(found)
                for found in engine.get(name, chosen, where=where, vectors=True)
            ],
        )
        self.both(which, lambda engine: engine.count(name, where=where))

    @rule(
        which=writers,
        name=collections,
        order=st.sampled_from(
            ["a", "-a", "$id", "-expires_at", "created_at", "-updated_at"]
        ),
        limit=st.one_of(st.none(), st.integers(0, 3)),
        offset=st.integers(0, 2),
    )
    def page(self, which, name, order, limit, offset):
        self.both(
            which,
            lambda engine: [
                facts(found)
                for found in engine.scan(name, order_by=order, limit=limit, offset=offset)
            ],
        )

    @rule(which=writers, name=collections, chosen=st.lists(ids, max_size=2), value=clashing)
    def patch_ids(self, which, name, chosen, value):
        self.both(
            which,
            lambda engine: engine.patch(
                name, ids=chosen, where=EVERYTHING, changes={"b": value}
            ),
        )

    @rule(seconds=st.sampled_from([1.0, 10.0]))
    def wait(self, seconds):
        self.now += seconds

    @rule(which=writers)
    def reopen(self, which):
        self.engines[which].close()
        self.engines[which] = SQLiteBackend(self.path, clock=self.clock)

    @invariant()
    def they_agree(self):
        if not hasattr(self, "engines"):
            return
        query = np.array([1, 0, 0], np.float32)
        terms = Terms({"cat": 1, "東": 2, "東京": 1}, {"dog": 1, "都\ud800": 1})
        for name in ("one", "two"):
            for which in (0, 1):
                self.both(
                    which, lambda e, n=name: [facts(r) for r in e.scan(n, vectors=True)]
                )
                self.both(
                    which,
                    lambda e, n=name: [
                        (h.record.id, h.score) for h in e.dense(n, query, 9)
                    ],
                )
                self.both(
                    which,
                    lambda e, n=name: [
                        (h.record.id, h.score) for h in e.lexical(n, terms, 9)
                    ],
                )
                self.both(which, lambda e, n=name: e.analyzer(n))
                self.both(
                    which, lambda e, n=name: e.lexical_scores(n, terms, ["a", "b", "x"])
                )
                self.both(which, lambda e, n=name: model_facts(e, n))
        for engine in self.engines:
            assert engine.collections() == self.oracle.collections()

    def teardown(self):
        if hasattr(self, "engines"):
            for engine in self.engines:
                engine.close()
            self.folder.cleanup()


TestEngines = Engines.TestCase
TestEngines.settings = share(40, stateful_step_count=25)


class CodedEngines(Engines):
    """The same with codes of every vector, in an engine that reads the rest from the file.

    With three dimensions codes miss nothing: the slack is wider than any of their errors.
    """

    @initialize()
    def open(self):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(coding, "SCAN_VALUES", 0)
        self.patch.setattr(coding, "SKETCH_LEAST_DIMENSION", 1)
        self.patch.setattr(coding, "CODE_BLOCK_BYTES", 2 * (3 + 12))  # two keys a block
        super().open()

    @rule(which=st.integers(0, 1), name=collections)
    def rebuild(self, which, name):
        rebuild_codes(self.engines[which], name)

    @invariant()
    def codes_are_those_of_the_vectors(self):
        if hasattr(self, "engines"):
            for name in ("one", "two"):
                assert check_codes(self.engines[0], name) == []

    def teardown(self):
        super().teardown()
        if hasattr(self, "patch"):
            self.patch.undo()


TestCodedEngines = CodedEngines.TestCase
TestCodedEngines.settings = TestEngines.settings
