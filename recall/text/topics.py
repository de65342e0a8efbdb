"""Standing preferences apply by task, not by wording: "write a script" calls for "I like Python".

A message *requests* a topic where a verb of making is near one of the topic's things ("write ... script", "写…脚本").
A short memory is a *preference* about a topic where it contains one of the topic's words, and its category says so or a
word of liking is near.
"""

import re
from collections.abc import Iterable

from recall.tables import table

# The bits of a row's traits: a standing preference or instruction; a question; one bit for each topic, in the order of
# the table; and that it has Chinese, Japanese or Korean in it.
STANDING = 1
QUESTION = 2
_FIRST_TOPIC = 4
WIDE = 1 << 16

# Longer texts are stories that mention a preference among other things.
_LONGEST_PREFERENCE = 160
_NEAR = r"[^.!?。！？\n]{0,40}?"
_WIDE_LETTER = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# A request is at the beginning of a message.
_LONGEST = 300


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern for one of the words: ASCII ones whole, Chinese ones anywhere."""
    whole, anywhere = ("|".join(word for word in words if word.isascii() is is_ascii) for is_ascii in (True, False))
    return rf"(?:\b(?:{whole})(?!\w)|{anywhere})"


def _read() -> tuple[list[re.Pattern[str]], list[re.Pattern[str]], list[re.Pattern[str]]]:
    """Return the patterns of each topic: of its requests, of its preferences, and of its words alone."""
    of_topics = table("topics")
    verbs, things, plain, about, preferring = (
        {head[0]: words for head, words in of_topics.rows(section)}
        for section in ("verbs", "request things", "plain requests", "preference words", "preferring")
    )
    liking = _any_of(preferring["words"])
    requests, preferences, topics = [], [], []
    for (topic, *groups), own in of_topics.rows("request verbs"):
        doing = _any_of([*own, *(verb for group in groups for verb in verbs[group])])
        requests.append("|".join([*plain.get(topic, ()), f"{doing}{_NEAR}{_any_of(things[topic])}"]))
        words = _any_of(about[topic])
        preferences.append(f"{liking}{_NEAR}{words}|{words}{_NEAR}{liking}")
        topics.append(words)
    return [*map(re.compile, requests)], [*map(re.compile, preferences)], [*map(re.compile, topics)]


_REQUESTS, _PREFERENCES, _WORDS = _read()


def requested_topics(message: str) -> int:
    """Return the bits of the topics that a message requests; 0 for none."""
    # The patterns are in lower case: ignoring case takes three times as long.
    return _bits(_REQUESTS, message[:_LONGEST].lower())


def traits_of(text: str, *, standing: bool) -> int:
    """Return the traits: QUESTION for a text that ends asking; STANDING and its topics' bits for a preference; WIDE.

    standing: whether it is known to be one; else its words tell.
    """
    wide = WIDE if is_wide(text) else 0
    question = QUESTION if text.rstrip().endswith(("?", "？")) else 0
    if question or len(text) > _LONGEST_PREFERENCE:
        return question | wide
    topics = _bits(_WORDS if standing else _PREFERENCES, text.lower())
    return (STANDING | topics if topics else 0) | wide


def _bits(patterns: Iterable[re.Pattern[str]], text: str) -> int:
    """Return the bits of the topics whose patterns match somewhere in a text."""
    return sum(_FIRST_TOPIC << place for place, pattern in enumerate(patterns) if pattern.search(text))


def is_wide(text: str) -> bool:
    """Return whether a text has Chinese, Japanese or Korean in it."""
    return _WIDE_LETTER.search(text) is not None
