"""What an engine does to keep what it holds: the second half of `storage.base.Backend`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias

from langchain_ragstore.filters import EVERYTHING, Filter
from langchain_ragstore.model import Compacted, Problem, Record, Terms, Unanalyzed

TermsOf: TypeAlias = Callable[[Record], Terms | Unanalyzed | None]
"""What full text is to find a record by; None for nothing."""


class Cared(Protocol):
    """Records that can be read out, checked, mended and cleaned."""

    def pages(
        self, collection: str, *, where: Filter = EVERYTHING
    ) -> Generator[list[Record], None, None]:
        """As `scan`, with vectors, some at a time; all of the same moment.

        Whoever does not read to the end closes the iterator.
        """

    def verify(self, collection: str, terms_of: TermsOf) -> list[Problem]:
        """What is not as it should be, in all collections; nothing is changed.

        Args:
            collection: Whose text index is compared with its texts; the others' are
                looked through.
            terms_of: As in `reindex`.
        """

    def repair(self, collection: str, terms_of: TermsOf) -> list[Problem]:
        """Make everything as it should be; what was done, and what could not be saved.

        Records whose bytes are not what was written are lost, and vectors likewise; all
        else is saved, and everything that follows from it is made anew.

        Args:
            collection: As in `verify`.
            terms_of: As in `reindex`.
        """

    def compact(self) -> Compacted:
        """Leave nothing of what was deleted, expired or kept, and no room for it."""
