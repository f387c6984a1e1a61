"""What a search did, step by step, if somebody wants to know."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from langchain_ragstore.model import Hit

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a plan, as it ran.

    Attributes:
        part: The source, fusion or stage; a source with the depth that it came to.
        taken: How many hits came in; None for a source.
        hits: What came out; None for a source that there was nothing to ask with.
        seconds: How long it took.
    """

    part: object
    taken: int | None
    hits: tuple[Hit, ...] | None
    seconds: float

    @property
    def given(self) -> int:
        """How many hits came out."""
        return len(self.hits or ())


class Trace:
    """Collects the steps of one run; those of its last round, if it went deeper.

    Attributes:
        steps: In the order in which they ran.
        rounds: How often candidates were fetched.
        whole: Whether it wants to know all of a candidate, not its id and score alone.
    """

    whole = True

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.rounds = 0

    def begin(self) -> None:
        """A round begins."""
        self.steps.clear()
        self.rounds += 1

    def step(
        self,
        part: object,
        taken: int | None,
        run: Callable[[], Found],
        hits: Callable[[Found], list[Hit] | None],
    ) -> Found:
        """Run a part and note what came of it.

        Args:
            part: The source, fusion or stage.
            taken: How many hits it takes; None for a source.
            run: Does it.
            hits: What came out, for people.
        """
        started = time.perf_counter()
        found = run()
        seconds = time.perf_counter() - started
        given = hits(found)
        self.steps.append(
            Step(part, taken, None if given is None else tuple(given), seconds)
        )
        return found


class Untraced(Trace):
    """Notes nothing."""

    whole = False

    def begin(self) -> None:
        """See `Trace`."""

    def step(
        self,
        part: object,
        taken: int | None,
        run: Callable[[], Found],
        hits: Callable[[Found], list[Hit] | None],
    ) -> Found:
        """See `Trace`."""
        return run()
