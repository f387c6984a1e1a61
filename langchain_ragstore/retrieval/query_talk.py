"""What a turn of a talk sounds like: how clauses begin and end, and who is addressed.

Unlike subjects, talk is known by its place: `吧` ends a clause of speech, and begins the
name of a bar's counter. So there are lists for a query's beginning, for the beginning and
the end of each clause (what stands between two marks), for whole clauses and for anywhere.
All are our choice. Latin entries are whole words; an underscore after a Korean one
is the end of a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

_ALONE: Final = """
hi, hello, hey, thanks, thank you, thx, ok, okay, yes, no, yeah, yep, nope, sure, great,
cool, nice, perfect, awesome, hmm, um, wow, oh, well, wait, sorry, please, lol, haha, bye,
goodbye, good night, why, how, how come, really, and, but, so, then, what else, go on,
continue, got it, i see, never mind, nevermind, more, again, exactly, right, not really,
of course, what's up, actually, alright, yes please, no thanks, who are you,
anything else, good morning, 怎么办, 咋办, 怎么说, 行, 好, 好的, 在, 对, 是, 哦, 嗯, 本当,
どうしよう, なんで, はい, うん, いや, え, そう, 続き, 他には, 네, 응, 예, 아니, 왜, 정말,
진짜, 헐, 계속, 그만, 안녕, 와
"""
"""Whole clauses."""

_FIRST: Final = """
and, so, but, then, also, ok, okay, hey, hi, wait, yeah, yes, sorry, lol, wow, hmm, um,
oh, well, thanks, thank you, great job, nice job, my, our, still, no, nope, not what,
really, 那, 还是, 换成, 再来, 就, 然后, 还有别的, 还有其他, 还有什么, 还有吗, 所以, 但是,
可是, 不过, 而且, 另外, 它, 他, 她, 这个, 那个, 这样, 这是, 这些, 这段, 这里, 这怎么,
这能, 这有, 这会, 上面, 前面, 上一个, 下一个, 能, 可以再, 可以给, 可以帮, 可以说, 可以吗,
可不可以, 再, 有没有人, 有没有别的, 有没有其他, 具体, 继续, 换个, 换一, 第二个, 第一个,
请, 前回, まだ, また, 今度は, それ, これ, あれ, その, この, あの, そっち, こっち, あっち,
じゃ, では, もう一度, もう一回, もう少し, もっと, 他に, ほかに, なんで, 何で, どうして,
でも, で, 例を, 前に, 先の, 아직, 아직도, 지난번, 이번엔, 그게, 그거, 그건, 그걸, 그것,
이거, 이게, 이건, 이걸, 이것, 저거, 저게, 저건, 그_, 이_, 저_, 그럼, 그러면, 그래서,
그런데, 근데, 그리고, 그렇다면, 왜_, 다른 건, 다른 거, 다시_, 또_, 좀_, 더 쉽게,
더 자세히
"""
"""At the beginning of a query: what goes on from a turn before, or points to it."""

_OPENING: Final = """
thank you, thanks, please, hey, hi there, hello there, good morning, good afternoon,
good evening, what about, how about, i, i'm, i've, i'd, i'll, let's, let us, we, we're,
we've, we'll, you, can you, could you, would you, will you, can we, can i, could i, may i,
should i, is there any way, tell me, show me, give me, help me, remind me, teach me,
any idea, any thoughts, any tips, any suggestions, anything else, something else,
explain that, explain it, explain this, summarize this, summarize it, rewrite it,
rewrite that, rewrite this, translate this, translate that, sort it, fix it, fix this,
do it, do that, try again, same for, more details, another one, one more, the first one,
the second one, the last one, the other one, the next one, quick question, never mind,
my dog, my cat, my boss, my wife, my husband, my friend, my son, my daughter, my mom,
my dad, 你, 您, 我, 咱, 谢谢, 多谢, 感谢你, 感谢您, 辛苦了, 早上好, 早安, 晚上好, 晚安,
下午好, 中午好, 大家好, 在吗, 再见, 拜拜, 对不起, 抱歉, 不好意思, 算了, 没事, 没关系,
真的, 是吗, 不是, 太好了, 太棒了, 明白了, 知道了, 懂了, 哈哈, 嗯, 哦, 嘿, 喂, 哎, 诶, 嗨,
好的, 好吧, 请问, 请帮, 请把, 请给, 请教, 请再, 请解释, 请说, 请列, 请写, 请用, 请总结,
请翻译, 请推荐, 请告诉, 麻烦, 求助, 求推荐, 求建议, 求指教, 求解, 能不能, 想问, 问一下,
问下, 帮我, 帮忙, 给我, 告诉我, 教我, 刚才, 刚刚, 那么, 那这, 那如果, 那用, 那第,
为什么呢, 为啥, 咋, 话说, 顺便, 举个例子, 比如呢, 总结一下, 解释一下, 了解, 僕, 俺,
こんにちは, こんばんは, おはよう, はじめまして, もしもし, どうも, ありがとう, すみません,
すいません, ごめん, 申し訳, お疲れ, お願い, よろしく, 助かり, いいえ, うーん, えーと,
えっと, なるほど, そうですか, そうなん, そうじゃ, そっか, わかりました, 分かりました,
違う, 違います, 本当です, 本当に, まじ, マジ, すごい, じゃあ, さっき, 先ほど, さきほど,
続けて, どうすれば, どうしたら, どうしよう, ちょっと, ところで, ちなみに, あなた, 君の,
君は, きみ, 私は, 私の, 私が, 私も, わたし, うちの, 教えて, ねえ, あのさ, あのね,
やっぱり, 昨日の話, 要約して, 안녕하세요, 안녕하십니까, 반갑, 반가, 감사합니다, 감사해,
고마, 고맙, 미안, 죄송, 실례, 저기, 있잖아, 네_, 응_, 아니요, 아뇨, 아니_, 그래요,
그렇구나, 그렇군, 그렇죠, 저는, 제가, 저도, 나는, 난_, 내가, 나도, 너는, 넌_, 네가, 니가,
당신, 아까, 방금, 혹시, 정말요, 정말이, 진짜요, 와_, 우와, 음, 좋은 아침, 좋아요, 알겠,
알았, 괜찮아, 왜요, 도와, 부탁, 수고, 잠깐만, 잠시만, 우리 강아지, 우리 고양이, 우리 아이,
우리 애, 우리 집, 어떡, 어제 말, 어제 하, 예를 들어
"""
"""At the beginning of a clause: greetings, thanks, the speaker, requests."""

_NOT_OPENING: Final = """
thank you card, thank you note, thank you letter, i ching, well water, well pump,
wait times, then and now, 那不勒斯, 那覇, 那须, 那曲, 那达慕, 那英, 能量, 能源, 能力,
能见度, 能级, 能效, 能否, 再生, 再婚, 再保险, 再融资, 再就业, 再教育, 这些年, 我国, 我军,
我的世界, 前面板, 具体行政, 具体劳动, 请假, 请柬, 请客, 请愿, 请战, 请求, 请示, これから,
それぞれ, その他, できる, でんき, できもの, でぐち, じゃが, じゃんけん, じゃぐち, じゃこ,
君の名は, 前に進, ちょっとした, もっとも, その日, そのまま, 例を見ない, この世, なんでも,
何でも, どうしても, ありがとう寺, 이 닦, 음악, 음식, 음료, 음력, 음주, 음성, 음원, 음악회,
혹시나
"""
"""Names and words that begin alike."""

_CLOSING: Final = """
again, then, though, please, thanks, lol, too much for me, or not, for me, do next, 不对,
不行, 没用, 没懂, 看懂, 没看懂, 一遍, 一下, 打不开, 谢啦, 吧, 呢, 呀, 嘛, 啦, 哦, 喔, 呗,
哇, 咯, 哟, 啊, 好不好, 对不对, 是不是, 行不行, 行吗, 好吗, 对吗, 是吗, 可以吗, 谢谢, 你,
您, 咋办, 咋整, 啥意思, 这个怎么样, 那个怎么样, 真的假的, 帮帮我, 在线等, ですね,
ますね, だね, よね, いね, たね, るね, なね, だよ, るよ, いよ, たよ, すよ, うよ, のよ,
かな, かなあ, かしら, だろう, だろうか, でしょう, でしょうか, でしょ, じゃん, っけ, なの,
るの, いの, たの, うの, だわ, るわ, んだ, んです, んだけど, んですけど, んですが, けど,
けれど, わかりません, 分かりません, はどう, はいかが, してね, してよ, だっけ, ください,
下さい, くれる, くれない, くれますか, くれませんか, もらえる, もらえない, もらえますか,
もらえませんか, いただけますか, いただけませんか, ほしい, 欲しい, お願い, お願いします,
教えて, 聞かせて, 見せて, 続けて, 手伝って, 説明して, 直して, まとめて, やって, 書いて,
みて, ちょうだい, なさい, しよう, ましょう, ましょうか, ようか, たいです, と思う,
思います, てる, ちゃった, わからない, 分からない, わからないな, 困ってます, 困っています,
ございます, ございました, ごめん, すみません, まじで, いいな, ないな, だな, るな, のやつ,
やつのこと, そうなの, どうなった, にできる, 요, 을까, 할까, 될까, 일까, 줄까, 볼까,
없을까, 죠, 잖아, 거든, 줘, 줄래, 할래, 달라, 하자, 보자, 했어, 됐어, 있어, 없어, 었어,
았어, 였어, 겠어, 썼어, 갔어, 왔어, 봤어, 몰라, 같아, 싶어, 어때, 뭐야, 거야, 말이야,
뜻이야, 누구야, 건데, 는데, 은데, 생각해, 줄게, 할게, 하네, 없네, 있네, 좋네, 겠네, 구나,
그렇군, 거니, 거냐, 진짜, 부탁해, 고마워, 미안, 맞지, 그치, 안 돼, 하지, 감사합니다,
부탁드립니다, 싶습니다, 했습니다, 됩니다, 있습니다, 없습니다, 어떡해,
어떻게 해, 하면 돼, 수 있어
"""
"""At the end of a clause: particles and endings of speech, requests."""

_NOT_CLOSING: Final = """
网吧, 酒吧, 贴吧, 水吧, 书吧, 氧吧, 毛呢, 花呢, 粗呢, 迷你, 哎呀, さかな, おかな, いたね,
いいね, ひるね, いたの, かたの, 필요, 중요, 주요, 수요, 개요, 동요, 가요, 나요, 인가요,
은가요, 는가요, 민요, 소요, 강요, 담요, 고요, 한가요, 요요, 상하지, 소화하지
"""
"""Words that end alike, and in Korean the neutral question."""

_ANYWHERE: Final = """
can you, could you, would you, will you, do you, did you, are you, have you, you said,
you mean, you meant, you mentioned, you think, you told, you recommend, you suggest,
you just, you gave, you misunderstood, you explain, you know, your answer, your opinion,
your view, your advice, your last, your suggestion, your favorite, your explanation,
please, pls, plz, help me, tell me, show me, give me, i meant, i mean, i think, i don't,
i didn't, i can't, i want, i need, i was, i am, i'm, i've, i'd like, i just, i feel,
i asked, i guess, i wonder, i understand, i pasted, i tried, should i do, should i know,
the second one, the first one, the last one, the other one, the other option,
the same for, the same thing, any idea, any ideas, something else, anything else,
discussed, earlier that, lol, haha, in that case, what if i, next one, previous one,
and the second, and the first, for me, thanks, 你, 您, 帮我, 给我, 告诉我, 教我, 请问,
谢谢, 麻烦你, 麻烦您, 我想, 我要, 我该, 我应该, 我不, 我的, 我家, 我今天, 我昨天, 我刚,
我现在, 我觉得, 我说, 我是, 我有, 我们继续, 我们聊, 我朋友, 我妈, 我爸, 刚才, 刚刚说,
是什么意思呢, 哈哈, 呵呵, 第二个呢, 第一个呢, 另一个呢, 什么呢, 干嘛, 干吗, 咋回事,
好不好, 有人知道, 推荐一下, 怎么办啊, 怎么办呀, 怎么办呢, 教えてほしい, 教えてくだ,
教えてくれ, 教えてもら, てください, でください, て下さい, てくれ, でくれ, てもらえ,
でもらえ, ていただけ, でいただけ, んですけど, んだけど, あなた, ありがとう, ってどういう,
って何, ってなに, てほしい, でほしい, てもらっていい,
てもらってもいい, でもらっていい, でもらってもいい, さっき, 先ほどの, と思いますか,
と思う, じゃあ,
すみません, 困って, 手伝って, うちの犬, うちの猫, 주세요, 주실, 주시, 부탁드, 부탁해,
부탁합, 좀_, 혹시_, 아까_, 고마워, 고맙, 감사합니다, 미안, 죄송, 당신, 해 줄, 해 줘, 줄래,
알려 줘, 알려줘, 해줘, 도와줘, 도와주, 잖아, 거예요, 이에요, 예요, 거야, 어떡하,
어떻게 하면 돼, 인데요, 는데요, 거든요, 싶은데, 싶어요, 뭐 하는 건지, 맞죠
"""
"""Anywhere: who is addressed, and what was said before."""

_NOT_ANYWHERE: Final = """
迷你, 我的世界, 谢谢卡
"""
"""Names that hold such words."""

_BEFORE: Final = (
    "is|does|did|was|do|are|were|will|can|could|would|should|about|explain|fix|keeps|change"
    "|mean|by|of"
)
_PRONOUNS: Final = "it|that|this|they|them|those|these|he|she"
_POINTING: Final = re.compile(rf"\b(?:{_BEFORE}) (?:{_PRONOUNS})\b")
"""A pronoun where an English noun would stand."""

_ANYBODY: Final = (
    *("do", "can", "did", "does", "should", "must", "could", "would", "will", "may"),
    *("war", "part"),
)

_SPEAKER: Final = re.compile(
    "".join(rf"(?<!{word} )" for word in _ANYBODY)
    + r"\bi (?!of\b|and\b|or\b|<|=|\+)[a-z']{2}"
)
"""The speaker in a statement; in `how do i` it is anybody."""

_POINTING_WITHIN: Final = 40
"""Characters within which there is hardly a noun that the pronoun could stand for."""

_BOTH: Final = frozenset(("了解", "俺", "僕"))
"""Entries of Chinese characters alone that are Japanese."""

_READ: Final = 1_000
"""Characters at each end of a query that are read: a turn is short; more is a document."""

_QUOTED: Final = re.compile(
    r"《[^》]{1,100}》|「[^」]{1,100}」|『[^』]{1,100}』"
    r"|```.{0,1000}```|`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"",
    re.DOTALL,
)
"""What is quoted is not said to the listener."""

_CLAUSE: Final = re.compile(r"[^,.!?;:\n、。，！？；：…~]+")

_SIGNS: Final = re.compile(r"[<>={}\[\]]")
"""In a clause with these, `i` is a variable."""

_EXCITED: Final = re.compile(r"[!?]{2}|[\u1100-\u11ff]{2}")
"""Marks, and Korean letters that are no syllable: laughter, tears."""


def _entries(names: str) -> list[str]:
    """The entries of a list."""
    items = (item.strip().replace("_", " ") for item in names.replace("\n", " ").split(","))
    return [item for item in items if item]


def _begin(names: str) -> tuple[str, ...]:
    return tuple(
        f" {entry} " if entry.isascii() else f" {entry}" for entry in _entries(names)
    )


def _end(names: str) -> tuple[str, ...]:
    entries = map(str.strip, _entries(names))
    return tuple(f" {entry} " if entry.isascii() else f"{entry} " for entry in entries)


def _within(names: str) -> tuple[str, ...]:
    return tuple(
        f" {entry.strip()} " if entry.isascii() or entry.endswith(" ") else entry
        for entry in _entries(names)
    )


@dataclass(frozen=True, slots=True)
class _Manner:
    """The lists as `startswith`, `endswith` and `in` take them."""

    alone: frozenset[str]
    first: tuple[str, ...]
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    anywhere: tuple[str, ...]
    not_opening: tuple[str, ...]
    not_closing: tuple[str, ...]
    not_anywhere: tuple[str, ...]


_NOT_HAN: Final = re.compile(r"[^\u4e00-\u9fff ]")

_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fa]")


@cache
def _manner(*, kana: bool) -> _Manner:
    """The lists, for a text with kana without Chinese words, which it could hold, too."""
    made = _Manner(
        alone=frozenset(_entries(_ALONE)),
        first=_begin(_FIRST) + _begin(_OPENING),
        opening=_begin(_OPENING),
        closing=_end(_CLOSING),
        anywhere=_within(_ANYWHERE),
        not_opening=_begin(_NOT_OPENING),
        not_closing=_end(_NOT_CLOSING),
        not_anywhere=_within(_NOT_ANYWHERE),
    )
    if not kana:
        return made
    return replace(
        made,
        first=_japanese(made.first),
        opening=_japanese(made.opening),
        closing=_japanese(made.closing),
        anywhere=_japanese(made.anywhere),
    )


def _japanese(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        entry for entry in entries if _NOT_HAN.search(entry) or entry.strip() in _BOTH
    )


def talk(normalized: str) -> bool:
    """Tell whether a text sounds like a turn of a talk.

    Args:
        normalized: The result of `text.terms.normalize`.

    Example:
        >>> talk("thanks, and the second one?"), talk("那第二个呢"), talk("thank you card")
        (True, True, False)
    """
    text = normalized.replace("\u2019", "'")
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]}\n{text[-_READ:]}"
    text = _QUOTED.sub(" , ", text)
    manner = _manner(kana=_KANA.search(text) is not None)
    clauses = [f" {' '.join(clause.split())} " for clause in _CLAUSE.findall(text)]
    clauses = [clause for clause in clauses if not clause.isspace()]
    return (
        _EXCITED.search(text) is not None
        or _POINTING.search(text, 0, _POINTING_WITHIN) is not None
        or _SPEAKER.search(text) is not None
        or any(_is_said(clause, manner, first=at == 0) for at, clause in enumerate(clauses))
    )


def _is_said(clause: str, manner: _Manner, *, first: bool) -> bool:
    """Whether a clause with a blank on each side is of a talk."""
    if clause.strip() in manner.alone:
        return True
    if _SIGNS.search(clause) is None:
        openers = manner.first if first else manner.opening
        if clause.startswith(openers) and not clause.startswith(manner.not_opening):
            return True
        if clause.endswith(manner.closing) and not clause.endswith(manner.not_closing):
            return True
    for name in manner.not_anywhere:
        clause = clause.replace(name, " ")
    return any(phrase in clause for phrase in manner.anywhere)
