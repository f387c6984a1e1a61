"""What queries are recognised by: words in English, Chinese, Japanese and Korean.

Chosen by us, from what the four languages call these things; no list is copied. A phrase
is separated by a comma, written as `text.terms.normalize` leaves it, and matched before
the shorter ones that it contains. English nouns match in the plural, too; Korean words
with their particles. Latin words are the same for all languages.

*Sure* words decide alone. *Hints* have another everyday meaning (`python`, `row`) and need
a second one. *Actions* support a hint, and never each other.
"""

from __future__ import annotations

from typing import Final

TITLES: Final = """
lyrics, cast, soundtrack, episode list, ost, filmography, chords, merchandise,
thank you card, box office, 歌词, 结局, 演员表, 主题曲, 片尾曲, 票房, 剧情简介, 电视剧,
豆瓣, 影评, 谢谢卡, 大结局, 歌詞, 興行収入, 主題歌, 声優, 語源, 最終回, あらすじ,
キャスト, サウンドトラック, 가사, 줄거리, 등장인물, 결말, 주제가, 출연진, 흥행, 어원,
관객 수
"""
"""Beside these, what sounds like talk is the name of a song, film or book."""

CONDITIONS: Final = """
if, unless, whether, in case, provided that, provided, assuming, suppose, until,
otherwise, only if, as long as, depending on, given that, 如果, 假如, 要是, 倘若, 除非,
只要, 只有, 是否, 能否, 否则, 万一, 取决于, 的话, 的情况下, 場合, 次第, もし, ならば,
なら, たら, れば, かどうか, でなければ, 限り, 際に, 만약, 만일, 경우, 라면, 으면, 이면,
다면, 한다면, 하면, 나면, 가면, 되면, 않으면, 없으면, 는지, 아니라면, 때
"""
"""What makes one thing depend on another."""

CAUSES: Final = """
why, because, cause, reason, since, therefore, thus, hence, due to, so that, result in,
lead to, as a result, 为什么, 为何, 因为, 所以, 因此, 由于, 原因, 导致, 从而, 既然, 以便,
理由, なぜ, どうして, なんで, ため, ので, したがって, そのため, だから, によって, 왜,
이유, 원인, 때문, 그러므로, 따라서, 그러니까, 덕분
"""
"""What asks for a reason or gives one."""

COMPARISONS: Final = """
than, vs, versus, compare, compared, comparison, difference, different, better, worse,
best, more, less, rather, same as, similar, between, instead of, prefer, 比较, 相比, 对比,
区别, 不同, 差异, 更, 优于, 不如, 还是, 与其, 最好, 相同, 比較, 違い, 比べ, 比べて,
異なる, ほうが, 方が, 同じ, 優れ, 비교, 차이, 보다, 더, 다른, 대신, 같은, 가장, 나은, 낫
"""
"""What sets two things against each other."""

NEGATIONS: Final = """
not, no, never, without, none, neither, nor, cannot, can't, don't, doesn't, didn't, isn't,
aren't, won't, wouldn't, shouldn't, wasn't, couldn't, except, haven't, hasn't, 不, 没,
没有, 不是, 不能, 不会, 除了, 无法, 以外, ない, ません, なく, なかった, 無い, なし, 않,
않는, 않은, 않고, 안, 못, 없, 없이, 없는, 없을까, 아니, 아닌, 말고, 제외
"""
"""What denies."""

CONNECTIVES: Final = """
and, or, but, however, although, though, while, also, then, after, before, both, either,
first, finally, still, yet, moreover, 和, 与, 或, 或者, 并且, 而且, 但, 但是, 不过, 虽然,
尽管, 然后, 之后, 之前, 同时, 以及, 一方, または, 及び, および, かつ, しかし, でも, けど,
そして, その後, また, さらに, まず, 次に, ながら, 그리고, 또는, 혹은, 및, 하지만, 그러나,
그런데, 그 후, 다음, 먼저, 동시에, 또한, 비록, 면서, 거나, 하고
"""
"""What joins."""

QUESTIONS: Final = """
what, how, which, who, where, when, whose, whom, 什么, 怎么, 如何, 哪, 哪个, 哪些, 谁,
多少, 几, 怎样, 哪里, 何, 誰, どう, どの, どれ, いつ, どこ, いくら, どうやって, どちら,
どっち, 무엇, 뭐, 어떻게, 어느, 어떤, 누구, 어디, 언제, 얼마, 몇, 무슨
"""
"""What asks."""

STOP_WORDS: Final = """
a, an, the, of, to, in, on, at, by, for, from, with, about, into, as, is, are, was, were,
be, been, being, am, do, does, did, done, have, has, had, can, could, will, would, shall,
should, may, might, must, i, me, my, we, us, our, you, your, he, him, his, she, her, it,
its, they, them, their, this, that, these, those, there, here, what, how, which, who,
where, when, why, whose, whom, and, or, but, if, then, than, so, not, no, nor, too, very,
just, only, also, please, i'm, i've, i'd, it's, that's, what's, don't, doesn't, didn't,
isn't, can't, let's, up, out, over, under, some, any, all, each, such, own, same, other,
more, most, while, because, until, again, once, ok, okay, hi, hello, hey, thanks,
thank you, 的, 了, 是, 在, 和, 与, 或, 及, 以及, 也, 都, 就, 而, 把, 被, 让, 给, 对, 从,
到, 向, 于, 为, 之, 其, 这, 那, 这个, 那个, 这些, 那些, 我, 你, 您, 他, 她, 它, 我们,
你们, 他们, 吗, 呢, 吧, 啊, 呀, 嘛, 哦, 啦, 什么, 怎么, 如何, 哪, 哪个, 哪些, 谁, 多少,
几, 怎样, 为什么, 有, 没有, 不, 很, 还, 再, 又, 请, 请问, 谢谢, 你好, 一个, 会, 能, 可以,
要, 得, 着, 过, 个, 何, の, は, が, を, に, へ, と, で, も, や, か, から, まで, より,
など, だけ, です, ます, ました, ません, でした, ですか, ますか, する, した, して,
している, される, なる, ある, いる, いい, この, その, あの, これ, それ, あれ, ください,
について, という, とは, のは, のか, には, では, とき, こと, もの, ね, よ, な, さ, だ,
って, けど, たい, どう, どの, どれ, いつ, どこ, なぜ, ありがとう, ない, れる, られる, 그,
이, 저, 것, 거, 수, 좀, 더, 및, 또는, 그리고, 하는, 하기, 된, 할, 한, 어떻게, 무엇, 뭐,
어느, 어떤, 왜, 무슨, 있는, 없는, 있다, 없다, 하면, 되나, 하나, 주세요, 줘, 해, 그럼,
안녕하세요, 고마워, 감사합니다
"""
"""What carries no content: articles, prepositions, auxiliaries, pronouns, question words,
particles. Short on purpose: a word that names something is never among them."""

PARTICLES: Final = """
으로부터, 에서부터, 은요, 는요, 도요, 로요, 이라는, 이라고, 에서는, 에서도, 에게서,
으로는, 까지는, 부터는, 이나마, 으로, 에서, 에게, 한테, 까지, 부터, 처럼, 마다, 조차, 밖에,
이나, 라는, 라고, 에는, 에도, 과는, 와는, 로는, 이란, 께서, 은, 는, 이, 가, 을, 를, 의, 에,
로, 와, 과, 도, 만, 나, 란
"""
"""Korean particles, the longest first, taken off the end of a word."""
