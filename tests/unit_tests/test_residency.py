"""What stays in memory, by a clock that is moved by hand."""

import math

import pytest

from fakes import Clock
from langchain_ragstore.residency import Residency


class Memory:
    """Collections of which each takes 10 bytes once it was used."""

    def __init__(self, **bounds) -> None:
        self.clock, self.bytes, self.released = Clock(0.0), {}, []
        bounds = {"ttl": math.inf, "budget": None} | bounds
        self.residency = Residency(
            lambda name: self.bytes.get(name, 0),
            self.release,
            clock=self.clock,
            give_back=self.give_back,
            **bounds,
        )
        self.given_back = 0

    def release(self, name) -> None:
        self.bytes.pop(name, None)
        self.released.append(name)

    def give_back(self) -> None:
        self.given_back += 1

    def use(self, *names) -> None:
        for name in names:
            with self.residency.using(name):
                self.bytes[name] = 10


def test_what_is_unused_for_the_time_to_live_is_freed():
    memory = Memory(ttl=100)
    memory.use("a")
    memory.clock.now = 50
    memory.use("b")
    memory.clock.now = 99.9
    assert memory.residency.sweep() == []
    memory.clock.now = 100
    assert memory.residency.sweep() == ["a"]
    assert memory.residency.sweep() == []
    memory.clock.now = 149
    memory.residency.note("b")
    memory.clock.now = 248
    assert memory.residency.sweep() == []
    memory.clock.now = 249
    memory.use("c")  # looks, too
    assert memory.released == ["a", "b"]
    assert memory.residency.loaded() == {"c": 10}
    assert memory.residency.unloaded == 2


def test_time_runs_from_the_end_of_a_use():
    memory = Memory(ttl=100)
    with memory.residency.using("a"):
        memory.clock.now = 500
        assert memory.residency.sweep() == []
    memory.clock.now = 599
    assert memory.residency.sweep() == []


def test_the_least_recently_used_goes_first():
    memory = Memory(budget=30)
    memory.use("a", "b", "c", "a")
    assert memory.released == []
    memory.use("d")
    assert memory.released == ["b"]
    memory.residency.note("c")
    memory.use("e")
    assert memory.released == ["b", "a"]
    assert list(memory.residency.loaded()) == ["d", "c", "e"]


def test_what_is_in_use_stays_whatever_it_takes():
    memory = Memory(budget=10, ttl=100)
    with memory.residency.using("a"), memory.residency.using("a"):
        memory.bytes["a"] = 10
        memory.use("b")
        memory.clock.now = 1_000
        assert memory.residency.sweep() == ["b"]
        memory.residency.unload("a")
        assert memory.residency.in_use() == ["a"]
        assert memory.released == ["b"]
    assert memory.residency.in_use() == []
    assert memory.residency.loaded() == {"a": 10}


def test_one_that_exceeds_the_budget_alone_is_used_all_the_same():
    memory = Memory(budget=9)
    memory.use("a")
    assert memory.released == ["a"]
    memory.use("a")
    assert memory.residency.loaded() == {}


def test_an_error_ends_a_use():
    memory = Memory(ttl=100)
    with pytest.raises(KeyError), memory.residency.using("a"):
        raise KeyError
    assert memory.residency.in_use() == []


def test_a_sweep_sees_what_grew_meanwhile():
    memory = Memory(budget=30)
    memory.use("a", "b")
    memory.bytes["a"] = 25
    assert memory.residency.sweep() == ["a"]


def test_unloading_by_name():
    memory = Memory()
    memory.use("a", "b")
    memory.residency.unload("a")
    memory.residency.unload("a")
    memory.residency.unload("never")
    assert memory.released == ["a"]
    assert memory.residency.loaded() == {"b": 10}


def test_limits():
    nothing, everything = Memory(ttl=0), Memory()
    nothing.use("a")
    assert nothing.released == ["a"]
    everything.use("a")
    everything.clock.now = 1e300
    assert everything.residency.sweep() == []


def test_a_child_process_starts_without_users():
    memory = Memory(ttl=100)
    with memory.residency.using("a"):
        memory.residency.after_fork()
        assert memory.residency.in_use() == []
    assert memory.residency.in_use() == []
    with memory.residency.using("a"):
        assert memory.residency.in_use() == ["a"]


def test_forgetting():
    memory = Memory(budget=10)
    memory.use("a")
    memory.residency.forget()
    memory.use("b")
    assert memory.released == []


def test_memory_goes_back_to_the_system(monkeypatch):
    monkeypatch.setattr("langchain_ragstore.residency.GIVE_BACK_BYTES", 25)
    memory = Memory(budget=10)
    memory.use("a", "b", "c")
    assert memory.given_back == 0  # 20 bytes were freed
    memory.use("d")
    assert memory.given_back == 1
    memory.use("e", "f")
    memory.residency.unload("f")
    assert memory.given_back == 2
    memory.use("g")
    assert memory.residency.sweep() == []
    assert memory.given_back == 2
    memory.use("h")
    memory.bytes["h"] = 11
    assert memory.residency.sweep() == ["h"]
    assert memory.given_back == 3
