"""The kind of a text: whether it is Chinese, and whether it is only a greeting or small talk. Light to import."""

import re
from typing import Final

__all__ = [
    "LONGEST_READ",
    "has_han",
    "is_chinese",
    "is_greeting",
    "is_mostly_chinese",
    "is_small_talk",
    "length_in_letters",
]


# Whether a text is Chinese: every part of the package asks here.
#
# There are three questions with three thresholds. `has_han` asks whether Chinese patterns can match at all.
# `is_chinese` asks how to read a message, and is generous: somebody who writes Chinese mixes in English names of
# things. `is_mostly_chinese` asks in which language to write something around a text, and wants more of it.

LONGEST_READ: Final = 4_000  # characters; the gate reads no further, since a longer message surely holds something
_FEWEST_HAN: Final = 4
_HAN_OF_A_READER: Final = 10  # one Han character in so many characters, to read a message as Chinese
_HAN_OF_A_WRITER: Final = 4  # one in so many, to answer in Chinese
_HAN_TO_KANA: Final = 10  # Japanese has more kana than one to so many Han characters

_LETTERS_TO_HAN: Final = 3  # a Han character says about as much as so many Latin letters

_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


def has_han(text: str) -> bool:
    """Return whether a text has a Han character."""
    return bool(_HAN.search(text))


def is_chinese(text: str) -> bool:
    """Return whether to read a message as Chinese: a tenth of its characters are Han, or four of them."""
    han = len(_HAN.findall(text[:LONGEST_READ]))
    return han >= _FEWEST_HAN or (han > 0 and han * _HAN_OF_A_READER >= len(text.strip()))


def is_mostly_chinese(text: str) -> bool:
    """Return whether to write Chinese around a text: more than a quarter of its characters are Han, and no kana."""
    han = len(_HAN.findall(text))
    return han * _HAN_OF_A_WRITER > len(text) and han > _HAN_TO_KANA * len(_KANA.findall(text))


def length_in_letters(text: str) -> int:
    """Return the length of a text without outer white space, in characters. A Han character counts as three."""
    text = text.strip()
    return len(text) + (_LETTERS_TO_HAN - 1) * len(_HAN.findall(text))


# Greetings, and small talk such as thanks and agreement, in English and Chinese.

_LONGEST: Final = 200  # characters

_GREETING = re.compile(
    r"[^\w]*+(?:(?>hi|hello|hey|yo|hiya|howdy|greetings|good (?:morning|afternoon|evening|night)|morning"
    r"|evening|what's up|sup|how are you(?: doing)?(?: today)?|how's it going|nice to meet you"
    r"|long time no see|are you there|bye|goodbye|see you(?: later| soon| tomorrow)?|good ?bye|there|again"
    r"|everyone|all|my friend|buddy|mate"
    r"|你好|您好|大家好|嗨|哈[喽啰罗]|喂|在吗|在不在|在么|早上好|上午好|中午好|下午好|晚上好|早安|午安|晚安|早"
    r"|再见|拜拜|回头见|明天见|好久不见|你好吗|最近怎么样|吃了吗|呀|啊|哦|哈|呢|~)[^\w]*+)++",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"[^\w]*+(?:(?>h+m+|m+h*m+|u+h*m+|u+h+|a+h+|er+m*"
    r"|thanks?(?: you)?(?: so much| very much| a lot| again)?|thx|ty|cheers|ok(?:ay)?|k|sure|yes"
    r"|yeah|yep|yup|no|nope|nah|cool|nice|great|good|perfect|awesome|amazing|wonderful|excellent|brilliant|lol"
    r"|haha+|hehe|wow|oh|i see|got it|understood|makes sense|sounds good|all good|no problem|no worries"
    r"|never ?mind|you're welcome|right|exactly|indeed|fine|alright|interesting|really|that's (?:all|it|great"
    r"|good|nice|cool|fine|right|perfect)|will do|love it|go on|continue|go ahead|next|done|please|and|then|so"
    r"|well|very|too|it|for (?:your|the) help"
    r"|谢谢(?:你|您|啦|了)?|多谢|感谢|辛苦了?|好的?|好吧|好嘞|行|可以|嗯+|哦+|噢|喔|对|是的?|没错|不是|不用了?"
    r"|没事|没关系|不客气|收到|明白了?|知道了|了解|懂了|原来如此|这样啊|哈哈+|呵呵+|嘿嘿+|嘻嘻+|233+|666+|牛"
    r"|厉害|太棒了|真棒|棒|不错|挺好的?|很好|非常好|真的吗?|是吗|这样吗|然后呢|继续|接着说|下一个|好了|完成了?"
    r"|先这样|就这样|没问题|加油|吧|啊|呀|哦|啦|了|呢|的)[^\w]*+)++",
    re.IGNORECASE,
)


def is_greeting(text: str) -> bool:
    """Return whether a message only greets."""
    return len(text) <= _LONGEST and bool(_GREETING.fullmatch(text))


def is_small_talk(text: str) -> bool:
    """Return whether a message only thanks, agrees or reacts."""
    return len(text) <= _LONGEST and bool(_SMALL_TALK.fullmatch(text))
