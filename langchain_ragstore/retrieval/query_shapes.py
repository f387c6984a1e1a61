r"""What code and tables look like, whatever the language around them.

The patterns are our own. Each part of one reads a bounded stretch, so that all of them
take time linear in the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from langchain_ragstore.config import QUERY_HINT, QUERY_SURE

_WIDE: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
"""Full-width forms and what they stand for; NFKC would fold more, and slower."""


@cache
def _ignored() -> re.Pattern[str]:
    """Addresses, abbreviations, files of other kinds: they have points and slashes, too."""
    return re.compile(
        r"""https?://[^\s]{1,2000}|www\.[^\s]{1,2000}
    |\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}
    |(?<![\w.])(?:e\.g|i\.e|a\.m|p\.m|a\.k\.a|ph\.d|etc)\b\.?
    |\b[\w-]{1,64}\.(?:com|org|net|edu|gov|co|jp|cn|kr|uk|de|fr|eu|tv)\b
    |\b[\w-]{1,64}\.(?:pdf|docx?|pptx?|jpe?g|png|gif|mp[34]|zip|txt)\b
    |\b[sh]?e/(?:s?he|they|them|him|her)\b
    """,
        re.VERBOSE | re.IGNORECASE | re.ASCII,
    )


_BRANDS: Final = (
    "YouTube|LinkedIn|PayPal|WhatsApp|TikTok|PowerPoint|OneDrive|WordPress|LibreOffice"
    "|OpenOffice|FaceTime|PlayStation|MasterCard|FedEx|AirPods|AirBnB|WeChat|SharePoint|OneNote"
    "|ChatGPT|AliExpress|BuzzFeed|SoundCloud|DoorDash|SpaceX|QuickBooks|KakaoTalk|DeepMind"
    "|GoPro|HubSpot|StarCraft|DreamWorks|BlackBerry|BlackRock|CrossFit|NetEase|AstraZeneca"
    "|HarperCollins|JetBlue|ExxonMobil|WeWork|CarPlay|HomePod|AirTag|TripAdvisor|SnapChat"
    "|DuckDuckGo|DocuSign|DropBox|EasyJet|AirAsia|TeamViewer|MySpace|SoftBank|StubHub|GoFundMe"
    "|HarmonyOS|PepsiCo|CinemaScope|Mc[A-Z]|Mac[A-Z]|De[A-Z]|La[A-Z]|Le[A-Z]|Fitz[A-Z]"
    "|[A-Z][a-z]{1,2}Fi(?![A-Za-z])"
)
"""Names that are written as those of classes are."""

_TABLE_FILES: Final = r"(?:csv|tsv|xlsx?|xlsm|ods|parquet)\b"

_QUOTED: Final = r"```|`[^`\n]{1,200}`"

_TRACES: Final = r"""(?i:\b(?:panic|fatal|error|exception):\ )|报.{0,4}错
    |\bTraceback\ \(most|\bFile\ "[^"\n]{1,300}",\ line\ \d
    |^\s{1,8}at\ [\w.$<>]{1,200}\(|\bnpm\ ERR
    |\b[A-Z][A-Za-z]{1,40}(?:Error|Exception|Warning)\b
    |\b\d{1,3}(?:\.\d{1,3}){3}:\d|\b0x[0-9a-fA-F]{2,16}\b"""

_NAMES: Final = rf"""
    \b_{{0,2}}[a-z][a-z0-9]{{0,40}}(?:_[a-z0-9]{{1,40}}){{1,10}}_{{0,2}}\b
    |\b__[a-z]{{1,40}}__|\b[A-Z][A-Z0-9]{{1,40}}(?:_[A-Z0-9]{{1,40}}){{1,10}}\b
    |\b[a-z]{{2,40}}[0-9]?(?:[A-Z][a-z0-9]{{1,40}}){{1,8}}\b
    |\b(?!(?:{_BRANDS}))[A-Z][a-z]{{1,30}}(?:[A-Z][a-z0-9]{{1,30}}){{1,8}}\b
    |\b[a-z_]\w{{0,40}}(?:\.(?!{_TABLE_FILES})[a-z_]\w{{0,40}}){{1,10}}\b(?!\.[A-Z])"""
"""snake_case, CONSTANTS, camelCase (two small letters first: not `iPhone`), CamelCase that
is no brand, and dotted.names."""

_CALLS: Final = r"""
    \b[A-Za-z_]\w{0,80}\((?!e?s\)|[A-Z]{2,}\))
    [\w.\s,'"=\[\]:*&+<>/-]{0,200}\)
    |\b[A-Za-z]\w{0,80}\[(?:'[^'\n]{1,80}'|"[^"\n]{1,80}"|\w{1,40})\]"""
"""`foo(bar)`, but not `book(s)` or `health(WHO)`; `foo["bar"]`."""

_FILES: Final = r"""
    \b[\w-]{1,80}\.(?:py|jsx?|tsx?|java|cpp|hpp|cc|rs|go|rb|php|sh|vue|kt|cs)\b
    |\b[\w-]{1,80}\.(?:sql|html?|css|ya?ml|toml|ini|conf|cfg|ipynb|jsonl?|dll|jar|log)\b
    |(?<![\w.])\.(?:bash|zsh|git|npm|vim|docker|env|eslint|prettier|babel|ssh)[a-z_]{0,20}\b
    |(?<![\w/.])(?:~|\.{1,2})?/(?:[A-Za-z_.][\w.-]{0,60}/){1,20}[\w.-]{0,60}|\b[A-Za-z]:\\\w
    |(?<![\w/])(?:[a-z][\w.-]{0,40}/){2,10}[\w-]{1,40}\.[a-z]{1,5}\b"""

_OPERATORS: Final = r"""[=!]==?(?!=)|=>|::|&&|\|\||\+=|-=|:=(?!\))|(?<=\s)--[a-z][\w-]{1,30}
    |</?[a-z]{1,12}>|\b[A-Z]\w{1,30}<[A-Z]\w{0,30}>|\w\*\ \w{1,30};|\$\{?[A-Za-z_]\w{0,40}
    |^\#(?:include|define|!/)|[\w)\]}];\s{0,4}$|[;{]\s{0,8}\n|\\[dwsb][+*{]
    |\{\s{0,8}["']?\w{1,40}["']?\s?:|(?<!\w)=[A-Z]{2,12}\("""

_STATEMENTS: Final = r"""
    \b(?:public|private|static|void|int|char|double|const|let|var|def|func|fn)
    \ [A-Za-z_]\w{0,40}\s?(?:\(|=|;|:)
    |\bSELECT\b[^;\n]{1,300}\bFROM\b|\bINSERT\ INTO\b|\bDELETE\ FROM\b
    |\bUPDATE\ \w{1,60}\ SET\b|\b(?:CREATE|ALTER|DROP)\ (?:TABLE|INDEX|VIEW)\b
    |\bGROUP\ BY\b|\bORDER\ BY\b|\b(?:INNER|LEFT|OUTER)\ JOIN\b"""


@cache
def _code_sure() -> re.Pattern[str]:
    """What is code and nothing else; built at first use, as it takes a while."""
    return re.compile(
        f"{_QUOTED}|{_TRACES}|{_NAMES}|{_CALLS}|{_FILES}|{_OPERATORS}|{_STATEMENTS}",
        re.VERBOSE | re.ASCII | re.MULTILINE,
    )


@cache
def _code_hint() -> re.Pattern[str]:
    """What is code beside another sign of it."""
    return re.compile(
        r"""[<>]=|->|<<|>>
    |(?<=\s)-[a-zA-Z]\b(?=\s|$)|(?<!\w)@[a-z]\w{1,30}|\b[a-z]\w{0,30}\ =\ \S
    |\b[A-Z]{1,4}\d{4}\b|\{[^{}\n]{0,200}\}|\ \*\ FROM\b""",
        re.VERBOSE | re.ASCII,
    )


@cache
def _sql() -> re.Pattern[str]:
    """SQL in any case; in capitals less of it is enough."""
    return re.compile(
        r"""\bselect\ (?:\*|[\w.]{1,60}(?:,\ ?[\w.]{1,60}){0,20})\ from\ \w{1,60}
    (?:\ (?:where|join|group\ by|order\ by|limit)|;|$)
    |\binsert\ into\ \w{1,60}\ ?(?:values|\()|\bdelete\ from\ \w{1,60}\ where\b
    |\bupdate\ \w{1,60}\ set\ \w{1,60}\ ?=
    |\b(?:create|alter|drop)\ (?:table|index|view)\b""",
        re.VERBOSE,
    )


_KINDS_OF_TABLE: Final = (
    "推移|比較|分布|換算|売上|得点|勤務|予定|在庫|早見|統計|集計|一覧|增速|对比|换算|统计|明细"
    "|库存|销售|收支|考勤|排班|值班|日程|报价|评分|工时|人员|学生|成绩|价格|预算|登记|员工"
    "|当番|点検|評価|見積|単価|日程"
)
_KINDS_OF_TABLE_KO: Final = (
    "근무|당직|일정|계획|배치|편성|단가|급여|예산|견적|정산|재고|수량|점검|평가|실적|현황"
    "|비교|대조|조견|환율|요약|순위|진도"
)
"""What a table is of; not 대표, 목표, 기차표, 물음표."""


@cache
def _table_sure() -> re.Pattern[str]:
    """What is of a table and of nothing else."""
    return re.compile(
        rf"""\b[a-z]{{1,3}}[1-9]\d{{0,5}}:[a-z]{{1,3}}[1-9]\d{{0,5}}\b
    |\#(?:ref!|n/a|value!|div/0!|name\?|num!)|(?<!\w)=[a-z]{{2,12}}\(
    |\.{_TABLE_FILES}|\bdf\w{{0,9}}(?:\.[a-z]|\[)
    |\bcolumns?\ [a-z]\b|\brows?\ \d|\btable\ \d{{1,3}}\b|\b(?:alter|create|drop)\ table\b
    |\b(?:how\ many|number\ of|count\ of|average|total|sum\ of)\ [a-z\ ]{{1,40}}
    \ (?:per|by|in\ each|for\ each)\ [a-z]
    |^\|.{{1,200}}\|\s{{0,4}}$
    |第\s?[0-9一二三四五六七八九十百千几]{{1,6}}\s?[行列]|[0-9一二三四五六七八九十]\s?[行列]目
    |(?<![代发表手])表\s?[0-9一二三四五六七八九十]{{1,3}}(?![0-9一-龥]?[月日年])
    |(?:{_KINDS_OF_TABLE})表|大于\s?[0-9]{{1,9}}\s?的行|(?<![一-龥])表(?:[のをにがで]|から|全体)
    |번째\s?[행열]|(?:^|\s)표\s?\d|(?:{_KINDS_OF_TABLE_KO})표""",
        re.VERBOSE | re.MULTILINE,
    )


@cache
def _table_hint() -> re.Pattern[str]:
    """The name of a cell; figures for each of a group, or of two years."""
    return re.compile(
        r"(?a:\b[a-z]{1,2}[1-9]\d{0,3}\b)|各(?![页位种自个类式界])[一-龥]{1,4}"
        r"|(?:[一-龥]|[ァ-ヶー]{2})ごと|(?<![特個区差分送告識])[一-龥ァ-ヶー]別"
        r"|\b(?:19|20)\d\d年?\s?(?:and|to|versus|vs\.?|与|和|到|と|から|와|부터)\s?(?:19|20)\d\d"
        r"|[가-힣]별(?:로)?(?:\s|$)"
    )


def shown(text: str) -> str:
    """A text with the width of its letters folded, and an underscore for each address."""
    if not text.isascii():
        text = text.translate(_WIDE)
    return _ignored().sub("_", text)


def code_shape(text: str, normalized: str) -> float:
    """How much the shape of a text speaks for code.

    Args:
        text: What `shown` makes of it: capitals are part of a shape.
        normalized: The same in small letters.

    Example:
        >>> code_shape("call foo.bar()", "call foo.bar()"), code_shape("go home", "go home")
        (1.0, 0.0)
    """
    if _code_sure().search(text) or _sql().search(normalized):
        return QUERY_SURE
    return QUERY_HINT if _code_hint().search(text) else 0.0


def table_shape(normalized: str) -> float:
    """How much the shape of a text speaks for a table.

    Example:
        >>> table_shape("sum of a1:b7"), table_shape("what is in a1"), table_shape("a dog")
        (1.0, 0.5, 0.0)
    """
    if _table_sure().search(normalized):
        return QUERY_SURE
    return QUERY_HINT if _table_hint().search(normalized) else 0.0
