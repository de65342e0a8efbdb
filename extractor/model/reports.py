"""Whether a statement is about the user or about the chat: "The user mentions that …" tells a fact, "asks …" none."""

import re
from typing import Final

from extractor.language.script import is_chinese
from extractor.language.tables import words_of

__all__ = ["is_a_question", "is_first_person", "without_report"]

_LEAD: Final = r"\A(?:the )?user(?:'s message)?\s+(?:also |just |now |then |has |have |had |is |was |been )*"
# Reports of a statement: what follows may be a fact.
_TELLS: Final = re.compile(
    _LEAD + r"(?:(?:mention|sa(?:y|id)|stat|express|indicat|declar)(?:y|s|es|ed|d|ied|ies|ing|e)?(?:\s+that\b|,|:)?"
    r"|(?:tell|told|not|shar|report|confirm|explain|reveal|inform|point|add|emphasi[sz]|clarif|describ|claim|announc)"
    r"(?:y|s|es|ed|d|ied|ies|ing|e)?(?:\s+(?:out|us|me|(?:to )?the assistant))?"
    r"(?:\s+that\b|:|(?=\s+(?:they|he|she|their|his|her)\s+[\w']+\s+(?:is|are|was|has|have|had|\w+s)\b)))\s+(?P<rest>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
# Reports of an act: nothing is told by them. What is asked for may be a standing wish.
_ACTS: Final = re.compile(
    _LEAD
    + r"(?:wonder|thank|greet|inquir|enquir|respond|repl(?:y|ie)|acknowledg|discuss|complain|seek|sought|apologi[sz]"
    r"|interested in (?:knowing|learning|how|what|whether)|curious|looking for (?:advice|help|tips|suggestions|a way)"
    r"|(?:talk|chat|refer|ask)(?:s|ed|ing)? (?:about|to|whether|if|how|what|who|which|why|when|where)\b"
    r"|(?:want|wish|need|like|would like|love)(?:s|ed)? (?:to know|to hear|to find out|to understand|to see"
    r"|help|advice|tips|information|suggestions|recommendations)\b)",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(_LEAD + r"(?:ask|request|suggest|provid|giv)(?:s|es|ed|e|ing)?\b", re.IGNORECASE)
_PREFERS: Final = re.compile(r"\A(?:a |their |his |her )?(?:strong |clear )?preference for\s+", re.IGNORECASE)
_FEELING: Final = re.compile(
    r"\A(?:(?:a|an|the|some|their|his|her|great|strong|deep)\s+)*(?:interest|frustration|concern|gratitude|desire|excitement|thanks"
    r"|appreciation|worry|doubt|happiness|sadness|joy|love|opinion|feeling|need|wish|about|on|how|what|why|whether|if)\b",
    re.IGNORECASE,
)
_THEY: Final = re.compile(r"\A(?:they|he|she|the user)\s+(?P<verb>[\w']+)", re.IGNORECASE)
_THEIR: Final = re.compile(r"\A(?:their|his|her)\s+", re.IGNORECASE)
_OF_THEY: Final = {"are": "is", "have": "has", "were": "was", "do": "does", "don't": "doesn't", "aren't": "isn't",
                   "haven't": "hasn't", "weren't": "wasn't", "they're": "is", "they've": "has"}  # fmt: skip
_MODAL: Final = words_of(
    """
    is was has does doesn't isn't hasn't wasn't will would can can't cannot could may might must should shall won't had
    did didn't never always often
    """
)

_TELLS_ZH: Final = re.compile(
    r"\A用户(?:还|也|曾|刚刚?|又)?(?:表示|提到了?|提及|说(?!话|[英日德法中粤汉韩俄]语|方言)过?"
    r"|指出|称|透露|说明|分享了?|告诉(?:了)?助手|告知|反映|声称|强调)"
    r"[：:，,]?(?P<rest>.+)\Z",
    re.DOTALL,
)
_ACTS_ZH: Final = re.compile(
    r"\A用户(?:还|也|曾|刚刚?|又|正在|在|正)?(?:询问|咨询|问|想(?:知道|了解|问)|希望(?:知道|了解|得知)|感谢|谢谢|道谢|表达|请教|寻求"
    r"|需要(?:帮助|建议)|讨论|谈论|谈到|聊到)"
)
_ASKS_ZH: Final = re.compile(r"\A用户(?:还|也|又|正在)?(?:请求|要求|让助手|请助手)")
_SELF_ZH: Final = re.compile(r"\A(?:自己|本人|他自己|她自己|我|他|她)(?!们|妈|爸|家|老|的)")
_OF_SELF_ZH: Final = re.compile(r"\A(?:自己的?|我的?|他的?|她的?|其)(?=\S)")
_QUESTION: Final = re.compile(
    r"[?？]\s*\Z|\A(?:what|who|which|why|how|whether)\b(?! (?:the user|matters))"
    r"|[吗呢]\s*[。]?\Z|\A(?:什么|怎么|如何|是否|为什么|有没有|哪)",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(r"\A\W*(?:(?:i|i'm|i've|i'll|i'd|my|we|our)\b|我|咱)", re.IGNORECASE)


def without_report(content: str, *, wish: bool) -> str:
    """Return a statement without "The user mentions that"; "" if it tells only what is done in the chat.

    wish: it is meant as a standing wish, which may be asked for.
    """
    chinese = is_chinese(content)
    if (_ACTS_ZH if chinese else _ACTS).match(content):
        return ""
    if (_ASKS_ZH if chinese else _ASKS).match(content):
        return content if wish else ""
    found = (_TELLS_ZH if chinese else _TELLS).match(content)
    if found is None:
        return content
    rest = found["rest"].strip()
    if _QUESTION.search(rest):
        return ""
    return _of_user_zh(rest) if chinese else _of_user(rest)


def is_a_question(content: str) -> bool:
    """Return whether a statement is a question."""
    return bool(_QUESTION.search(content))


def is_first_person(content: str) -> bool:
    """Return whether a statement speaks as the user, with "I" or 我."""
    return bool(_FIRST.search(content))


def _of_user(rest: str) -> str:
    """Return what a report tells with "The user" for its pronoun; "" if it tells a feeling of the moment."""
    preferred = _PREFERS.match(rest)
    if preferred:
        return f"The user prefers {rest[preferred.end() :]}"
    if _FEELING.match(rest):
        return ""
    they = _THEY.match(rest)
    if they:
        verb = _OF_THEY.get(they["verb"].lower(), they["verb"])
        plural = rest.lower().startswith("they") and verb.lower() not in _MODAL and not verb.endswith(("s", "ed"))
        return f"The user {verb}{'s' if plural else ''}{rest[they.end() :]}"
    their = _THEIR.match(rest)
    return f"The user's {rest[their.end() :]}" if their else rest[0].upper() + rest[1:]


def _of_user_zh(rest: str) -> str:
    if rest.startswith("用户"):
        return rest
    of_self, self_ = _OF_SELF_ZH.match(rest), _SELF_ZH.match(rest)
    if self_:
        return f"用户{rest[self_.end() :]}"
    return f"用户的{rest[of_self.end() :]}" if of_self else rest if rest[0].isascii() else f"用户{rest}"
