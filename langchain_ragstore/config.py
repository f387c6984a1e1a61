"""Every constant of the package, each with its reason or its source."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# --- Searching (LangChain's own defaults, langchain_core.vectorstores) --------------
DEFAULT_K: Final = 4
"""Results of a search."""

DEFAULT_FETCH_K: Final = 20
"""Candidates that maximal marginal relevance chooses from."""

DEFAULT_HYBRID_CANDIDATES: Final = 50
"""Candidates of each leg of a hybrid search: with both scores of all of them, more changed
nothing in the measurements of `DEFAULT_FUSION_WEIGHTS`. Among 18 673 paragraphs, 0.1 to
0.4 % of the ten best of a question are others with 500; of 30 candidates, 0.8 to 2.9 %."""

DEFAULT_LAMBDA_MULT: Final = 0.5
"""Balance of maximal marginal relevance: 1 is relevance alone, 0 diversity alone."""

# --- Fusion -------------------------------------------------------------------------
DEFAULT_RRF_K: Final = 60
"""Constant of reciprocal rank fusion, fixed by its authors in a pilot study and near the
best in theirs (Cormack, Clarke and Büttcher, SIGIR 2009, section 2)."""

DEFAULT_FUSION_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"dense": 0.3, "text": 0.7}
)
"""Weights of the two legs' normalised scores. Chosen on one half of the index terms of
LibreOffice's help, in English, Chinese and Japanese with two embedding models: the lowest
weight of text that beats the better leg in all six with 95 % confidence; more costs the
stronger model (docs/quality.md has the other half). Where query and texts are in different
scripts, text weighs less: `retrieval.weighing`."""

FUSION_HITS_READ: Final = 10
"""Finds by vector whose script is compared with the query's; so many are always fetched."""

FUSION_TEXT_READ: Final = 500
"""Characters that are read of each: a script shows in the first lines."""

FUSION_LEAST_HELD: Final = 0.75
"""Part of a query that a text must hold for its words to count although they are in another
script; from there the weight rises to that of a text that holds it whole
(docs/decisions/0016-weights-by-query.md)."""

LEAST_SPREAD: Final = 1e-6
"""1 − (the query's mean cosine) up to which all documents count as pointing where the query
points: float32 tells no more of a cosine near 1 (its step there is 6e-8)."""

SCORE_SLACK: Final = 1e-4
"""What a cosine or a relative BM25 may exceed 1 by, as rounding in float32 does."""

# --- Stages -------------------------------------------------------------------------
GROUP_CANDIDATES: Final = 4
"""Candidates fetched for each result of a grouped search, to begin with."""

DEEPENING: Final = 4
"""Factor by which candidates are fetched anew while groups are too few: all rounds before
the last cost a third of it."""

MAX_WINDOW: Final = 100
"""Neighbours on each side of a hit: with more of them the whole source is wanted, which
`get(filter={"source_id": ...})` reads."""

LEAST_SHARED: Final = 3
"""Characters that two chunks must share at their border to be taken for an overlap, where
their positions do not tell: an equal letter or two stand there by chance."""

# The defaults of `RetrievalConfig`. "The seed's" is the design document of the assistant
# that this package restates (its phase R); all of them are off until asked for.
CODE_WEIGHTS: Final = (0.55, 0.35, 0.10)
"""Weights of meaning, words and title where a query is about code (the seed's)."""

TABLE_WEIGHTS: Final = (0.50, 0.30, 0.20)
"""The same, where it is about a table (the seed's)."""

CONVERSATIONAL_WEIGHTS: Final = (0.85, 0.10, 0.05)
"""The same, where it is a turn of a talk (the seed's)."""

OTHER_WEIGHTS: Final = (0.70, 0.20, 0.10)
"""The same, for all other queries (the seed's)."""

SCHEMA_BONUS: Final = 0.25
"""What a description of a table's columns gains where a query is about a table (the
seed's)."""

CORE_FACTOR: Final = 1.33
"""What the score of a document with a core tag is multiplied by (the seed's)."""

DEDUP_THRESHOLD: Final = 0.88
"""Cosine above which two results say the same (the seed's). Models differ: with those of
the E5 kind, two pages of one manual exceed it."""

STAGE_CANDIDATES: Final = 50
"""Candidates that stages choose from, in searches that fetch no more than k without them:
as many as a hybrid search fetches."""

RERANKED: Final = 50
"""Candidates that a reranking model is asked about: in the measurements of
`DEFAULT_HYBRID_CANDIDATES`, what ranks lower is seldom an answer."""

RERANK_BATCH: Final = 32
"""Texts in one call of a reranking model: the batch of sentence-transformers."""

RERANK_SECONDS: Final = 30.0
"""How long a search waits for a reranking model: its first call may have to load it, and
who asks has given up by then."""

MAX_ABANDONED: Final = 8
"""Calls of reranking models that may still run after their time was over: a thread cannot
be ended from outside, so no more are begun."""

MAX_TOPICS: Final = 8
"""Topics that results are sorted into at most: more are a list again."""

LEAST_SILHOUETTE: Final = 0.1
"""Mean silhouette (Rousseeuw 1987) from which on results are of several topics: of 10 to 50
random vectors of 64 to 512 dimensions, which have none, it stayed below."""

TOPIC_ROUNDS: Final = 50
"""Rounds of k-means at most; with so few points it stands still after about ten."""

TOPIC_WORDS: Final = 3
"""Words in the label of a topic."""

EXPLAINED_TERMS: Final = 64
"""Terms of a query whose part in a score an explanation looks up, one search for each."""

# --- Analysis of queries (our own figures: docs/decisions/0019-query-analysis.md) ------
QUERY_SURE: Final = 1.0
"""Evidence that a query is about code or a table, from a word or shape that is nothing
else; so much decides."""

QUERY_HINT: Final = 0.5
"""Evidence of a word with another everyday meaning: two different ones decide, or one and
an action that goes with it."""

LOGIC_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "CONDITIONS": 1.0,
        "CAUSES": 1.0,
        "COMPARISONS": 1.0,
        "NEGATIONS": 0.5,
        "CONNECTIVES": 0.5,
        "QUESTIONS": 1.0,
    }
)
"""What a word of each kind adds to a query's logic. What relates two statements counts 1;
what joins or turns one, half; questions count from the second one on."""

LOGIC_HALF: Final = 2.0
"""Weight of logic at which `logic_depth` is a half: a condition and a comparison."""

# --- Evaluation ---------------------------------------------------------------------
DEFAULT_EVALUATION_K: Final = (5, 10, 20)
"""Ranks down to which results are judged: a short prompt, a result page, a long prompt."""

DEFAULT_RESAMPLES: Final = 2000
"""Bootstrap samples behind an interval; for the ends of a 95 % interval at least 1 000 are
advised (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 14.3)."""

INTERVAL: Final = 0.95
"""Confidence of the interval."""

DEFAULT_CONCURRENCY: Final = 4
"""Queries that `aevaluate` has under way at once."""

MAX_GRADE: Final = 100.0
"""Highest grade of relevance; a gain of 2^grade − 1 stays far from overflow."""

# --- Collections ----------------------------------------------------------------------
DEFAULT_KINDS: Final = ("default", "important", "code", "meeting")
"""Kinds of collections (the seed's)."""

RETRIEVED_KINDS: Final = ("default", "important")
"""Kinds that `CollectionManager.retrieve` searches (the seed's)."""

DEFAULT_UNLOAD_SECONDS: Final = 7200.0
"""How long a collection stays in memory after its last use (the seed's)."""

KIND_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"default": 0.8, "important": 1.2}
)
"""Factors of the scores that `CollectionManager.retrieve` finds in a kind (the seed's)."""

OTHER_KIND_WEIGHT: Final = 0.8
"""The factor of every other kind (the seed's)."""

DEFAULT_KIND_DEPTH: Final = 2
"""How many times `k` is fetched from the default kind (the seed's); the others give `k`."""

DEFAULT_RETRIEVED: Final = 5
"""Results of `CollectionManager.retrieve` (the seed's)."""

MAX_USER_ID: Final = 255
"""Characters of a user's id: more than any identity provider's, OpenID Connect's limit for
a subject among them (Core 1.0, section 2)."""

GIVE_BACK_BYTES: Final = 16_000_000
"""Bytes of unloaded collections after which the heap is trimmed: it takes up to 5 ms, which
are spread over the hundreds of searches that unload as much."""

# --- Storing ------------------------------------------------------------------------
DEFAULT_COLLECTION: Final = "default"
"""Collection of a store that names none."""

DEFAULT_NAMESPACE: Final = "default"
"""Namespace of a byte store that names none."""

DEFAULT_EMBED_BATCH: Final = 64
"""Texts sent to an embedder in one call; bounds what one refused call costs."""

DEFAULT_EMBED_CONCURRENCY: Final = 4
"""Batches that `BatchedEmbeddings` has under way at once: answers of services take 0.1 to
1 second, mostly of waiting; more of them meet the limits of small accounts first."""

DEFAULT_EMBED_RETRIES: Final = 6
"""Times that a batch is sent again to a service that is busy: with the waits below they
last longer than a minute, the span over which services count calls and tokens."""

EMBED_BACKOFF: Final = (1.0, 60.0)
"""Seconds before a batch is sent again, doubled each time up to the second figure, if the
service does not say itself. A random part of up to a half is taken off, so that several
clients do not come back together (Brooker, Exponential Backoff And Jitter, AWS 2015)."""

EMBED_PATIENCE: Final = 300.0
"""Seconds that a service may ask for (`Retry-After`); who asks for more has closed for the
day, and is better told of by an error."""

BYTES_A_TOKEN: Final = 2
"""UTF-8 bytes that count as a token where nobody says how to count. On the LibreOffice help
that is 2.2 times cl100k_base's count in English and 1.5 times in Chinese and Japanese, and
other models' tokenizers make more. Too many batches cost a little, a refused one a call."""

TOKEN_MARGIN: Final = 0.9
"""Part of a refused limit of tokens that is used after that, since the estimate is off by
another factor for each text."""

PROBE_TEXT: Final = "The quick brown fox jumps over the lazy dog. 敏捷的狐狸。いろはにほ"
"""What a model embeds to be known again; letters of several scripts tell models apart
that agree in one."""

LEAST_AGREEMENT: Final = 0.99
"""Cosine of two models' vectors of the probe from which on they count as one: services
vary in the fourth decimal, other models are far below."""

DIGEST_BYTES: Final = 16
"""Of a text that was embedded: among 10^12 texts a collision has a probability below
10^-14."""

KEEP_SECONDS: Final = 1.0
"""Work of an embedding model that a killed process may lose: vectors that have no row yet
are written to the file when the first of them is that old. After an error none is lost."""

DEPARTING_AT_ONCE: Final = 1_000
"""Documents of one deletion whose vectors are kept at hand: more are read for nothing.
LangChain's `index()` deletes so many in one call, by default."""

DEPARTED_VECTORS: Final = 5_000
"""Vectors of deleted documents that a store has at hand, should their texts come back:
`index()` deletes after each batch what the next ones of the same source bring again. Those
of the longest source that is likely; 8 MB at 384 dimensions."""

REINDEX_ATTEMPTS: Final = 5
"""Times that a change of metadata starts anew because others changed the same records."""

REEMBED_PAGE: Final = 1_000
"""Texts that are read at once to be embedded anew."""

REEMBED_ROUNDS: Final = 20
"""Times that documents which changed meanwhile are embedded anew, too."""

LISTED_FINDINGS: Final = 100
"""Findings of SQLite's about a file that are listed one by one (its own default)."""

SALVAGE_TRIES: Final = 100_000
"""Reads that may fail while a damaged table is searched for what can be read: a lost page
costs about forty, one for each row that stood there."""

EXPORT_VERSION: Final = 1
"""Goes up when lines of an export mean something else."""

UNIT_SLACK: Final = 1e-5
"""What the length of a stored vector may differ from 1 by: rounding each number to float32
changes it by at most 6e-8, whatever the dimension."""

CONTENT_ID_LENGTH: Final = 32
"""Hexadecimal digits of a content id: 128 bits, where a collision among 10^12
documents has a probability below 10^-14 (birthday bound n²/2^129)."""

# --- Splitting (the seed's figures) --------------------------------------------------
DEFAULT_CHUNK_SIZE: Final = 1000
"""Characters (code points) of a chunk."""

DEFAULT_CHUNK_OVERLAP: Final = 200
"""Characters repeated between chunks, at most a fifth of the chunk size."""

DEFAULT_MAX_TOKENS: Final = 8000
"""Tokens that an embedding model takes at once."""

DEFAULT_SAFETY_RATIO: Final = 0.85
"""Part of them that a chunk may have, since another model's tokenizer counts more."""

DEFAULT_OVERLAP_RATIO: Final = 0.1
"""Part of a chunk, in tokens, that the next one may repeat."""

LEAST_TOKENS: Final = 4
"""Tokens that a chunk must be allowed: one for each byte of a code point in UTF-8."""

# --- Tokens -------------------------------------------------------------------------
DEFAULT_ENCODING: Final = "cl100k_base"
"""The tokens that sizes are counted in: those of the text-embedding-3 models."""

TOKENIZER_PIECE: Final = 100_000
"""Code points given to tiktoken in one call. A million blanks make it panic, with what is
no `Exception` (tiktoken 0.14, its issues 15 and 400); half as many do not."""

RANKS_LIMIT: Final = 16_000_000
"""Bytes that a file of token ranks may have; the largest, o200k's, has 3.6 million."""

DOWNLOAD_TIMEOUT: Final = 60.0
"""Seconds that a download of ranks may take in all: 1.7 MB at a slow 30 kB/s."""

# --- Vectors -------------------------------------------------------------------------
SCAN_VALUES: Final = 4_000_000
"""Numbers in a collection's vectors (rows × dimension) up to which every search compares
all of them: 16 MB of float32, a millisecond (docs/decisions/0021-vector-index.md)."""

SKETCH_LEAST_DIMENSION: Final = 64
"""Dimension from which vectors have sketches: fewer bits tell too little."""

SKETCH_SAMPLE: Final = 128
"""Vectors that a collection's recall is measured with: 1 280 neighbours."""

SKETCH_RECALL: Final = 0.998
"""Part of the neighbours that must be among the candidates when it is measured."""

SKETCH_MARGIN: Final = 2.0
"""How many times as many candidates are taken as were needed: queries are not documents,
and a candidate costs a ten-thousandth of a millisecond."""

SKETCH_LEAST_DEPTH: Final = 200
"""Candidates that are always taken."""

SKETCH_WORTH: Final = 2
"""Rows per candidate below which comparing codes of all rows is cheaper than sketches."""

SKETCH_STALE: Final = 1.0
"""New vectors, per vector measured, before a collection is measured anew: when it has
doubled. Until then as many more candidates are taken as there are more vectors."""

CODE_ERRORS: Final = 7.0
"""Standard deviations of a score by code that a vector may lie below the k-th and still be
compared exactly: five of the difference of two such scores, √2 times as wide."""

CODE_BLOCK_BYTES: Final = 16_384
"""Bytes of codes in one row of the file: what changing one vector writes, and what
opening reads at once."""

MEMORY_BUDGET: Final = 512 * 1024 * 1024
"""Bytes that a store's vectors may take in memory: a million codes of 384 dimensions."""

MOST_COLUMNS: Final = 32
"""Keys of metadata whose values are kept in memory for filters."""

COLUMNS_SHARE: Final = 0.25
"""Part of the memory budget that may be added to it for them."""

# --- SQLite -------------------------------------------------------------------------
SQLITE_MINIMUM: Final = (3, 37, 0)
"""Oldest SQLite that is supported: STRICT tables came with 3.37.0 (2021-11-27)."""

SQLITE_BUSY_TIMEOUT: Final = 30.0
"""Seconds that a writer waits for another process before it gives up."""

SQLITE_IDLE_CONNECTIONS: Final = 8
"""Connections kept open for reuse; more are opened under load and closed after."""

SQLITE_PAGE_SIZE: Final = 16_384
"""Bytes of a page of a new file. A page holds whole vectors: with SQLite's 4 096 a quarter
is lost at 384 or 768 dimensions and half at 512, with these a sixteenth, a sixteenth and an
eighth. A write of one document takes a millisecond longer
(docs/decisions/0021-vector-index.md)."""

SQLITE_CACHE_KIB: Final = 8_000
"""KiB of pages that a connection keeps. A write of 1 000 documents changes some 500 pages,
those of the index of digests all over; with SQLite's 2 000 they do not fit and are written
several times: 3.1 GB for 100 000 documents instead of 1.8."""

SQLITE_TOMBSTONES: Final = 10_000
"""Deletions remembered per collection, so that other processes can catch up without
reading the collection anew; one that is further behind reloads."""

RECORD_PAGE: Final = 500
"""Records that are read or written at once while a collection is walked through: half a
megabyte of text, some milliseconds of the write lock."""

SQLITE_KEY_PAGE: Final = 500
"""Keys that are read at once while a caller walks through all of them."""

# --- Full text ------------------------------------------------------------------------
BM25_K1: Final = 1.2
"""How soon a repeated term adds no more (Robertson and Zaragoza 2009; Lucene's value)."""

BM25_B: Final = 0.5
"""How much a long text is held against it. Lucene has 0.75; 0.5 found more in English,
Chinese and Japanese documentation (docs/decisions/0012-text-index.md)."""

BM25_MAX_FREQUENCY: Final = 255
"""Occurrences of a term in one text that count: what a byte holds. The fraction of BM25
is then at least 0.99 of its limit for a text of the mean length."""

TITLE_WEIGHT: Final = 0.2
"""Weight of the title's BM25 beside the body's (docs/decisions/0012-text-index.md)."""

ALTERNATIVE_WEIGHT: Final = 0.8
"""What a synonym is worth beside the words that were asked for: less, so that among
otherwise equal texts the exact one comes first. From 0.5 to 1 measured alike where a
segmenter's words are matched by their parts (docs/decisions/0015-text-analyzer.md)."""

TERMS_VERSION: Final = 1
"""Goes up when the built-in analysis makes other terms of the same text: collections are
then to be indexed anew."""

MAX_PHRASE: Final = 256
"""Characters of an entry of a dictionary or of synonyms: it is a phrase, not a text."""

MAX_SYNONYMS: Final = 64
"""Synonyms of one expression: each is a search of its own."""

LONGEST_STEMMED: Final = 100
"""Letters of a word that a stemmer is asked about; German compounds have up to 80."""

MAX_EXPANSION: Final = 8
"""How many times as long as its text the result of a stemmer or segmenter may be: full
segmentation repeats a character about four times."""

EXCERPT: Final = 60
"""Characters of a text that an error shows."""

POSTING_BLOCK_BYTES: Final = 16_384
"""Size of a block of posting lists: a query reads one for each term and segment. One row
for each term instead wrote 20 to 50 times slower."""

SEGMENT_ROWS: Final = 64
"""Records below which segments of the text index count as equally small."""

SEGMENT_FAN_OUT: Final = 4
"""Segments of about one size that are merged into one."""

LARGE_SIZE: Final = 3
"""Sizes below are small segments, of up to `SEGMENT_ROWS * SEGMENT_FAN_OUT ** 2` rows."""

LARGE_FAN_OUT: Final = 8
"""Segments of one size above that are merged into one: each posting of a large index is
rewritten half as often as by fours, and a search reads few segments more."""

MERGE_BLOCKS: Final = 64
"""Blocks that one write merges, or eight times what it wrote if that is more: about a
tenth of a second. A larger merge goes on with the next write."""

# --- Pipeline -----------------------------------------------------------------------
DEFAULT_INGEST_BATCH: Final = 100
"""Texts that `RagPipeline.ingest` sends to the embedder in one call (the seed's)."""

LEAST_SIMILARITY: Final = 1e-10
"""Cosine up to which the pipeline takes a document for unrelated (the seed's)."""

# --- Files of a folder --------------------------------------------------------------
FILES_FORMAT: Final = 1
"""Goes up when the same file would be loaded as other documents: all are loaded anew."""

RACY_SECONDS: Final = 2.0
"""Age that a file's time must have when it is noted, to be trusted later: a change within
the same tick of the clock leaves it as it is, and FAT's clock ticks every two seconds."""

INGEST_ATTEMPTS: Final = 5
"""Times that a file is read in one run, if it changes or others ingest it meanwhile."""

DEFAULT_STABLE_SECONDS: Final = 1.0
"""How long a watched file must stay as it is: editors and copies write in steps."""

WATCH_PATIENCE: Final = 10
"""How many times as long stable files wait for others that change all the time."""

WATCH_FAILURES: Final = 3
"""Files one after another that fail before the rest is put off: a model that is down
fails them all, one poisonous file does not."""

WATCH_RETRY: Final = (1.0, 300.0)
"""Seconds before the first retry, doubled up to the second figure."""

# --- Loading ------------------------------------------------------------------------
DEFAULT_MAX_FILE_BYTES: Final = 200 * 1024 * 1024
"""Size up to which a file is loaded, and to which a DOCX or XLSX may unpack: a reader
takes some ten times as much memory."""
