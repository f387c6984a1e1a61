"""`Explanation`: why a search found what it found, to look at."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from langchain_ragstore.notebook import findings_page, findings_plain
from langchain_ragstore.retrieval.findings import Account


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Account):
    """What a search did; a notebook draws it, `print` writes it, `to_dict` gives data.

    Attributes:
        query: What was looked for.
        terms: What full text makes of it, in the query's order.
        plan: How it was looked for.
        steps: What each part of the plan took, gave and needed, in the last round.
        rounds: How often candidates were fetched; more than once only when grouping.
        hits: The results, each a `Finding` with its signals, contributions and words.
        asked: The documents that were asked for by id; `absent` are those of them that
            are no results, each with its `reason`.
        search_type: The kind of search.
        filter: The filter that was given; None for none.
    """

    search_type: str = "similarity"
    filter: str | None = None

    @classmethod
    def of(cls, account: Account, search_type: str, filter: object) -> Explanation:
        """An account as people see it.

        Args:
            account: What it shows.
            search_type: The kind of search.
            filter: What was given; it is kept as text.
        """
        values = {
            entry.name: getattr(account, entry.name)
            for entry in dataclasses.fields(account)
        }
        shown = None if filter is None else repr(filter)
        return cls(**values, search_type=search_type, filter=shown)

    @override
    def to_dict(self) -> dict[str, Any]:
        """All of it as values that JSON knows."""
        about = {"search_type": self.search_type, "filter": self.filter}
        return about | Account.to_dict(self)

    @override
    def __str__(self) -> str:
        return findings_plain.render(self, self.search_type, self.filter)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return findings_page.render(self, self.search_type, self.filter)
