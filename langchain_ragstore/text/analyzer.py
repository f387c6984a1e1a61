"""`TextAnalyzer`: what full text is made of, as one value."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from langchain_ragstore.config import MAX_PHRASE, TERMS_VERSION
from langchain_ragstore.errors import InvalidInputError
from langchain_ragstore.lexical.pieces import KeysOfPieces
from langchain_ragstore.model import Alternatives, Terms
from langchain_ragstore.text.callables import Segmenter, Stemmer, excerpt, qualified_name
from langchain_ragstore.text.folding import normalize
from langchain_ragstore.text.phrases import Phrases
from langchain_ragstore.text.stop_words import ENGLISH, filler
from langchain_ragstore.text.synonyms import (
    Expression,
    Fields,
    SynonymsLike,
    Thesaurus,
    frozen,
)
from langchain_ragstore.text.terms import (
    STEMMED,
    UNSTEMMED,
    TermsOfWords,
    counted,
    is_unspaced,
    pieces,
    runs,
    stretch_terms,
)

StemmerLike: TypeAlias = Literal["english"] | Callable[[str], str] | None
StopWordsLike: TypeAlias = Literal["english"] | Iterable[str] | None
SegmenterLike: TypeAlias = Callable[[str], Iterable[str]] | None

_DIGEST: Final = 6
"""Bytes that tell dictionaries apart: by accident equal once in 10^14 pairs."""

_PAIR: Final = 2


@dataclass(frozen=True, kw_only=True)
class TextAnalyzer:
    """How texts and queries become the terms that full text compares.

    Words are folded (width, case, composition) and stemmed; stretches of scripts without
    blanks (Chinese, Japanese, Korean, Thai) become overlapping pairs of characters.
    Compounds such as `node.js` are terms as a whole and in parts. Everything here adds to
    that: pairs and single characters are found whatever the segmenter and the dictionary
    say.

    A segmenter's words of three characters and more are terms beside the pairs; a query
    then looks for its words, not for pairs across their borders. A long word is worth as
    much as all its pairs together: a text that has the pairs but was cut differently is
    found, too.

    Synonyms widen queries, one step far (the synonyms of synonyms are not looked for), and
    one way: `{"a": ["b"]}` finds b for a, not a for b. In each of body and title, an
    expression `e` of the query with synonyms `s` scores

        max(BM25(e), max over s of 0.8 · BM25(s) · most(e) / most(s))

    where `most` is what BM25 can reach for those terms. So a synonym is never worth more
    than the expression itself, and the best possible score stays the same.

    Args:
        stemmer: `"english"` takes plural s, -ed, -ing and final e off; None takes off
            nothing; a function gives the stem of a word: any language's, such as
            `snowballstemmer.stemmer("german").stemWord`.
        segmenter: The words of a stretch without blanks, such as `rjieba.cut`.
        dictionary: Words and phrases that are terms as they are, beside their parts:
            `["gen-itgc", ".NET", "搜索引擎"]`. The longest counts.
        synonyms: `{"heart attack": ["myocardial infarction"]}`, or a function that gives
            such a mapping for a query. A change needs no new index. Expressions are
            compared by their terms: "Heart attacks" is one. A single character of an
            unspaced script is one only where it stands alone.
        stop_words: What a query's text is not searched for, unless it has nothing else:
            words of its own, or `"english"` for `text.stop_words.ENGLISH`, which holds
            beside the English stemmer alone; None for none. Texts are indexed with all
            their words, and titles searched for all of them, so that a change needs no
            new index. A word in capitals counts as a name.
        name: What the stemmer and segmenter are called in the file, instead of their
            modules' and functions' names; a new one when they give other results.

    Raises:
        InvalidInputError: A value is none of these.

    Example:
        >>> TextAnalyzer(dictionary=["C++17", "搜索引擎"]).terms("搜索引擎 in C++17")
        ['17', 'c', 'c++', 'c++17', 'in', '引擎', '搜索', '搜索引擎', '索引']
    """

    stemmer: StemmerLike = "english"
    segmenter: SegmenterLike = None
    dictionary: Iterable[str] = ()
    synonyms: SynonymsLike = field(default=None, hash=False)
    stop_words: StopWordsLike = "english"
    name: str | None = None
    description: str = field(init=False, compare=False, repr=False)
    """What the terms of stored texts depend on, in a line."""

    keys_of: KeysOfPieces | None = field(init=False, compare=False, repr=False)
    """The numbers of words' terms, unless texts have terms besides words and pairs."""

    _stop_words: frozenset[str] = field(init=False, compare=False, repr=False)
    _terms_of: TermsOfWords = field(init=False, compare=False, repr=False)
    _segment: Segmenter | None = field(init=False, compare=False, repr=False)
    _phrases: Phrases | None = field(init=False, compare=False, repr=False)
    _thesaurus: Thesaurus | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        entries = _entries("dictionary", self.dictionary)
        whole = {phrase for phrase in map(_one_line, entries) if not _is_short(phrase)}
        _check_callables(self)
        made: dict[str, Any] = {
            "dictionary": entries,
            "synonyms": frozen(self.synonyms),
            **_stop_words(self),
            "_terms_of": _terms_of(self.stemmer),
            "_segment": None if self.segmenter is None else Segmenter(self.segmenter),
            "_phrases": Phrases(whole) if whole else None,
            "description": _description(self, whole),
        }
        plain = self.segmenter is None and not whole
        made["keys_of"] = KeysOfPieces(made["_terms_of"]) if plain else None
        for name, value in made.items():
            object.__setattr__(self, name, value)
        thesaurus = None
        if self.synonyms is not None:
            thesaurus = Thesaurus(self.synonyms, self._terms_of, self._ways)
        object.__setattr__(self, "_thesaurus", thesaurus)

    def __reduce__(self) -> tuple[Any, ...]:
        given: dict[str, Any] = {
            "stemmer": self.stemmer,
            "segmenter": self.segmenter,
            "dictionary": self.dictionary,
            "synonyms": self.synonyms,
            "stop_words": self.stop_words,
            "name": self.name,
        }
        if isinstance(self.synonyms, Mapping):
            given["synonyms"] = dict(self.synonyms)
        return partial(TextAnalyzer, **given), ()

    def terms(self, text: str) -> list[str]:
        """The distinct terms of a text, sorted: what it can be found by."""
        return sorted(self.index_terms(text).body)

    def index_terms(self, text: str, title: str = "") -> Terms:
        """What a text and its title are found by.

        Raises:
            InvalidInputError: The stemmer or the segmenter failed.
        """
        body = self._counts(text, singles=False)
        titles = self._counts(title, singles=True) if title else {}
        return Terms(body, titles, analyzer=self.description)

    def query_terms(self, query: str) -> Terms:
        """What a query looks for.

        Raises:
            InvalidInputError: The stemmer, the segmenter or the synonyms failed.
        """
        body, title = self._wanted(query)
        fields = self._telling(query, body), title
        alternatives: list[Alternatives] = []
        if self._thesaurus is not None:
            expressions = self._thesaurus.of(query)
            for expression, count in expressions.items():
                alternatives += _alternatives(expression, count)
        for at, terms in enumerate(fields):
            named: Counter[str] = Counter()
            for alternative in alternatives:
                if alternative.title == bool(at):
                    named.update(alternative.exact)
            # No term is part of more than the query has of it: so the bound holds.
            terms |= named  # noqa: PLW2901 - in place
            alternatives += self._long_words(terms - named, title=bool(at))
        return Terms(*fields, tuple(alternatives), self.description)

    def _telling(self, query: str, body: Counter[str]) -> Counter[str]:
        """The terms of a query without those of its stop words, if others are left."""
        if not self._stop_words:
            return body
        words, _ = pieces(normalize(query))
        rest = body - counted(filler(query, words, self._stop_words), self._terms_of, ())
        return rest or body

    def _counts(self, text: str, *, singles: bool) -> Counter[str]:
        folded = normalize(text)
        words, stretches = pieces(folded)
        cut = self._stored if self._segment else stretch_terms
        counts = counted(
            words, self._terms_of, map(partial(cut, singles=singles), stretches)
        )
        return counts if self._phrases is None else counts | self._found(folded)

    def _found(self, folded: str) -> Counter[str]:
        """Entries of the dictionary; one that is a term already is not counted twice."""
        return Counter(self._phrases.found(_one_line(folded)) if self._phrases else ())

    def _stored(self, stretch: str, *, singles: bool) -> list[str]:
        assert self._segment is not None  # noqa: S101 - only called with one
        more = [
            word
            for word in self._segment(stretch)
            if len(word) > _PAIR or word not in stretch
        ]
        return stretch_terms(stretch, singles=singles) + more

    def _wanted(self, query: str) -> Fields:
        """Terms for body and title, without alternatives."""
        if self._segment is None:
            return self._counts(query, singles=False), self._counts(query, singles=True)
        folded = normalize(query)
        words, stretches = runs(folded)
        cut = [self._asked(stretch) for stretch in stretches]
        body = counted(words, self._terms_of, cut) | self._found(folded)
        several = Counter("".join(s for s in stretches if len(s) > 1))
        return body, body + several

    def _ways(self, expression: str) -> list[Fields]:
        """The terms of an expression, and those of a text that was cut otherwise."""
        wanted = self._wanted(expression)
        if self._segment is None:
            return [wanted]
        words, stretches = runs(normalize(expression))
        pairs = [
            counted(
                words, self._terms_of, map(partial(stretch_terms, singles=s), stretches)
            )
            for s in (False, True)
        ]
        plain = (pairs[0], pairs[1])
        return [wanted] if plain == wanted else [wanted, plain]

    def _asked(self, stretch: str) -> list[str]:
        """The words of a stretch; pairs of what the segmenter left as single characters."""
        assert self._segment is not None  # noqa: S101 - only called with one
        if len(stretch) <= _PAIR:
            return stretch_terms(stretch)
        asked: list[str] = []
        lonely = ""
        for word in [*self._segment(stretch), stretch]:
            if len(word) == 1:
                lonely += word
                continue
            asked += stretch_terms(lonely) if len(lonely) > 1 else []
            asked.append(word)
            lonely = ""
        # The last word was only there to close the row.
        return asked[:-1] or stretch_terms(stretch)

    def _long_words(self, terms: Counter[str], *, title: bool) -> Iterable[Alternatives]:
        """Long words of a segmenter, which a text that was cut otherwise has in pairs."""
        if self._segment is None:
            return
        for word, count in terms.items():
            if len(word) > _PAIR and all(map(is_unspaced, word)):
                yield Alternatives({word: count}, (Counter(stretch_terms(word)),), title)


def _alternatives(expression: Expression, count: int) -> list[Alternatives]:
    exact = [{t: count * n for t, n in part.items()} for part in expression.exact]
    return [
        Alternatives(exact[at], tuple(other[at] for other in expression.others), bool(at))
        for at in (0, 1)
    ]


def _terms_of(stemmer: StemmerLike) -> TermsOfWords:
    if stemmer == "english":
        return STEMMED
    return UNSTEMMED if stemmer is None else TermsOfWords(Stemmer(stemmer))


def _stop_words(given: TextAnalyzer) -> dict[str, Any]:
    """The stop words as they are kept, and as they are compared."""
    words = given.stop_words
    if words is None:
        return {"stop_words": None, "_stop_words": frozenset()}
    if words == "english":
        english = ENGLISH if given.stemmer == "english" else frozenset()
        return {"stop_words": words, "_stop_words": english}
    entries = _entries("stop_words", words)
    return {"stop_words": entries, "_stop_words": frozenset(map(_one_line, entries))}


def _check_callables(given: TextAnalyzer) -> None:
    if given.stemmer not in ("english", None) and not callable(given.stemmer):
        raise InvalidInputError(
            f"stemmer is 'english', None or a function of a word, got "
            f"{excerpt(given.stemmer)}; for another language give its function, such as "
            "snowballstemmer.stemmer('german').stemWord"
        )
    if given.segmenter is not None and not callable(given.segmenter):
        raise InvalidInputError(
            "segmenter is None or a function that gives the words of a text, got "
            f"{excerpt(given.segmenter)}"
        )
    name: object = given.name
    if name is None:
        return
    if not isinstance(name, str) or not name.strip() or "\n" in name:
        raise InvalidInputError(f"name is a line of text, got {excerpt(name)}")
    if not callable(given.stemmer) and given.segmenter is None:
        raise InvalidInputError(
            f"name={name!r} names a stemmer or segmenter, but neither is a function"
        )


def _entries(name: str, listed: Iterable[str]) -> tuple[str, ...]:
    """The entries of a list of words, each once."""
    if isinstance(listed, str):
        raise InvalidInputError(
            f"{name} is a list of words, got {excerpt(listed)}; write [word]"
        )
    try:
        given: list[object] = list(listed)
    except TypeError:
        problem = f"{name} is a list of words, got {excerpt(listed)}"
        raise InvalidInputError(problem) from None
    entries: dict[str, None] = {}
    for word in given:
        if not isinstance(word, str) or not word.strip():
            raise InvalidInputError(
                f"a word of {name} is a non-blank string, got {excerpt(word)}"
            )
        if len(word) > MAX_PHRASE:
            raise InvalidInputError(
                f"a word of {name} has at most {MAX_PHRASE} characters, "
                f"{excerpt(word)} has {len(word)}"
            )
        entries[word] = None
    return tuple(entries)


def _one_line(text: str) -> str:
    """Folded, with one blank wherever there is white space."""
    return " ".join(normalize(text).split())


def _is_short(phrase: str) -> bool:
    """Whether a phrase is a pair or single of an unspaced script: found in any case."""
    return len(phrase) <= _PAIR and all(map(is_unspaced, phrase))


def _description(given: TextAnalyzer, whole: Iterable[str]) -> str:
    def named(function: Callable[..., Any]) -> str:
        return given.name or qualified_name(function)

    stemmer = named(given.stemmer) if callable(given.stemmer) else str(given.stemmer)
    parts = [f"terms {TERMS_VERSION}", f"stemmer {stemmer}"]
    if given.segmenter is not None:
        parts.append(f"segmenter {named(given.segmenter)}")
    listed = sorted(whole)
    if listed:
        data = "\n".join(listed).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=_DIGEST).hexdigest()
        parts.append(f"dictionary of {len(listed)} ({digest})")
    return ", ".join(parts)


DEFAULT_ANALYZER: Final = TextAnalyzer()
"""The analysis of a store that is given none."""
