"""How much a text looks like the language of its encoding.

A text of ten characters is too short for statistics of pairs, on which detectors rely,
and bytes of one East Asian encoding are often valid in all the others. But about half
of any running text consists of the few hundred most frequent characters, and a wrong
encoding hits them by accident only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

_SIMPLIFIED: Final = frozenset(
    "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后"
    "能对着事其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分"
    "此心前面又定见只主没公从知使把开现本新长理问题电话请关文件数据户系统信息网站明白今快走北"
    "京海市语言测试内容第四五六七八九百千万书名字号月点价格产品服务工老师样些两门间物平情己最"
    "女但任已通被比口因它相全正合教手打很高民第机动实力外提常给或更加备份章程回度让应并什东西"
    "城茶水退款订单版目录说明运输简介报告汇总总合计部经济社会管求结果变化安装设置"
)
_TRADITIONAL: Final = frozenset(
    "的一是不了人我在有他這為之大來以個中上們到說國和地也子時道出而要於就下得可你年生自會那後"
    "能對著事其裡裏所去行過家十用發天如然作方成者多日都三小軍二無同麼經法當起與好看學進種將還"
    "分此心前面又定見只主沒公從知使把開現本新長理問題電話請關文件數據資料戶系統訊息網站明白今"
    "快走北京海市語言測試內容第四五六七八九百千萬書名字號月點價格產品服務工老師樣些兩門間物平"
    "情己最女但任已通被比口因它相全正合教手打很高民機動實力外提常給或更加備份章程回度讓應並什"
    "東西城茶水退款訂單版目錄運輸簡介報告總計部濟社管求結果變化安裝設定台灣臺"
)
_KANJI: Final = frozenset(
    "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女"
    "午百書先名川千水半男西電校語土木聞食車何南万毎白天母火右読友左休父雨会同事自社発者地業方"
    "新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心界教文元重近"
    "考画海知道集別物使品計死特私始朝運終台広住無真有口少町料工建空急止送切転研究楽着病質試族"
    "英医味写字答音注帰古歌図週室歩風紙花春色走駅旅服都市区県府内部第号表資料情報記録設定説明"
    "保存変更確認必要可能取引価格商数値番回最全対性法的地震備自転車屋分北民関実政定経済"
)
_SYLLABLES: Final = frozenset(
    "이다는을의에가고하한은로기지사들그것도를니자리어서아시만해대나수인있라과정일으여게상부보제"
    "전요면스주구장동조우안없성거원오적비중위습트유마경모공소신생말문연때람선국진치년와합내무간"
    "관법세데러했었던되된될않더까저네개할당행방계체화미학업용물식양발분실통단현회등명영결재교산"
    "반프드크르레터메목록표예설타바불음약월호급남북차출특별심초민운최권같많처럼며려든금감배건강"
    "속품직파력복집추날렇알본길녕세입니습합메뉴값번째찾읽쓰열닫오늘내일어제물커피차빵책글씨"
)
_WESTERN: Final = frozenset("àâäáãåæçèéêëìíîïñòóôöõøœùúûüýÿß")
_WESTERN_CAPITALS: Final = frozenset("ÀÂÄÁÅÆÇÈÉÊËÍÎÑÓÔÖØŒÚÜ")
_WESTERN_SIGNS: Final = frozenset("‘’“”„–—…•€£§©®°«»·×½¿¡ªº")

_PUNCTUATION: Final = re.compile("[\u3000-\u3011\u3014-\u301b\uff01-\uff5e“”‘’…—·々〇〜]")
_HAN: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fc]")

_NEUTRAL: Final = 0.0
_ODD: Final = -0.6
"""A rare character, or one of another language."""

_FAIR: Final = 0.3
"""A character that the standard's makers took for a common one."""


def plausibility(text: str, encoding: str) -> float:
    """How likely a text is in a language that is written in an encoding.

    Args:
        text: Decoded by this encoding; ASCII in it says nothing.
        encoding: One of those told apart here.

    Returns:
        The mean weight of the characters that are not ASCII: 1 for frequent ones, below
        0 for odd ones; -1 for a text without any.
    """
    if encoding == "cp1252":
        weights = [_western(run[0], text, run.start()) for run in _RUN.finditer(text)]
        count = sum(len(run) for run in _RUN.findall(text))
        return sum(weights) / count if count else -1.0
    weigh = _WEIGHTS[encoding]
    weights = [weigh(character) for character in text if not character.isascii()]
    return sum(weights) / len(weights) if weights else -1.0


_RUN: Final = re.compile(r"[^\x00-\x7f]+")


def _western(run: str, text: str, start: int) -> float:
    """The weight of a run of other than ASCII; accented letters come by ones or twos.

    Just below that of frequent East Asian characters: `a中` is as good as two accents.
    """
    before = text[start - 1 : start] if start else ""
    weight = 0.0
    letters = 0
    for character in run:
        fits = character in _WESTERN or (
            character in _WESTERN_CAPITALS and not (before.isascii() and before.islower())
        )
        letters += fits
        if character in _WESTERN_SIGNS:
            weight += 0.8
        else:
            weight += 0.9 if fits else -1.0
    return weight if letters <= 2 else -0.7 * len(run)  # noqa: PLR2004


@cache
def _common(encoding: str, first: int, last: int) -> frozenset[str]:
    """Characters of a standard whose first byte lies in a range."""
    pairs = (bytes((a, b)) for a in range(first, last + 1) for b in range(0x40, 0xFF))
    return frozenset("".join(pair.decode(encoding, "ignore") for pair in pairs))


def _chinese(character: str, frequent: frozenset[str], common: frozenset[str]) -> float:
    if character in frequent:
        return 1.0
    if _PUNCTUATION.match(character):
        return 0.6
    if _HAN.match(character):
        return _FAIR if character in common else _ODD
    return _NEUTRAL if _KANA.match(character) else _ODD


def _simplified(character: str) -> float:
    return _chinese(character, _SIMPLIFIED, _common("gb2312", 0xB0, 0xD7))


def _traditional(character: str) -> float:
    return _chinese(character, _TRADITIONAL, _common("big5", 0xA4, 0xC6))


def _japanese(character: str) -> float:
    if character in _KANJI or _KANA.match(character):
        return 1.0
    if _PUNCTUATION.match(character):
        return 0.6
    return _FAIR if character in _common("euc_jp", 0xB0, 0xCF) else _ODD


def _korean(character: str) -> float:
    if character in _SYLLABLES:
        return 1.0
    if _PUNCTUATION.match(character):
        return 0.6
    if _HANGUL.match(character):
        return _FAIR if character in _common("euc_kr", 0xB0, 0xC8) else _ODD
    return _ODD


_WEIGHTS: Final[dict[str, Callable[[str], float]]] = {
    "gb18030": _simplified,
    "big5hkscs": _traditional,
    "cp932": _japanese,
    "euc_jp": _japanese,
    "cp949": _korean,
}
