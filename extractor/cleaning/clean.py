"""Removes what must never reach the journal: private spans, secrets, injected blocks, broken characters."""

import re
from collections import Counter
from itertools import pairwise

from extractor.tables.reader import table
from extractor.types import Cleaned

from .layers import Cut, Traced, carried_out, views, without_invisible
from .masking import mask_secrets, names

__all__ = ["clean", "without_holes"]

_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

_PRIVATE_TAG = re.compile(
    r"(?ia)(?:<|＜|&lt;)[\s\u3000]{0,20}([/／][\s\u3000]{0,20})?private(?![\w-])(?:[^<>＜＞&]{0,1000}(?:>|＞|&gt;))?"
)
_BLANK = " "
"""The replacement of a private span."""
_ROUNDS = 8
_LONG = 20_000
"""Characters. Of a longer text, each view is searched for secrets only in lines that no earlier view had."""

# Tags that memory systems and gateways put around what they inject into a prompt.
_BLOCK_NAMES = (
    r"gateway-memory|relevant[-_]memor(?:y|ies)|user[-_]memor(?:y|ies)|retrieved[-_]memor(?:y|ies)"
    r"|hindsight[-_]memories"
    r"|memory[-_](?:context|blocks?|update|changes)|memories|supermemory[-_]context|claude-mem-context"
    r"|active_memory_plugin"
    r"|mem0[-_](?:context|memories)|system-reminder|environment_details"
)
_BLOCK_TAG = re.compile(rf"(?i)<\s{{0,20}}(/\s{{0,20}})?({_BLOCK_NAMES})(?![\w-])[^<>]{{0,400}}>")
_HEADING = re.compile(r"(?im)^[ \t>*#-]{0,8}\[(?:relevant memory|memory update|memory changes)\][^\n]*")
_QUOTED_MEMORY = re.compile(
    r"(?m)^[ \t]{0,8}[-*•] (?:\([a-z0-9]{6,12}, \d{4}-\d\d-\d\d[^)\n]{0,40}\)[^\n]*"
    r"|[^\n]{0,4000}<!--\s{0,8}gm:[^\n]*)\n?"
)
_COMMENT = re.compile(r"<!--\s{0,8}gm:[^\n]*?(?:-->|$)", re.MULTILINE)
_METADATA = re.compile(
    r"(?m)^[^\n]{1,60}\((?:un)?trusted[^)\n]{0,60}\):[ \t]*\n(?:```json\n(?:(?!```)[^\n]*\n){0,200}```[ \t]*(?:\n|$))?"
)
_MESSAGE_ID = re.compile(r"(?m)^\[message_id: [^\]\n]{1,200}\][ \t]*\n?")


def clean(text: str) -> Cleaned:
    """Return the text as it may be stored and sent. Never raises; linear in the length of the text.

    Removed: `<private>…</private>` (nested; unclosed, it reaches to the end, and unopened, to
    the beginning), our injected blocks and other systems', a gateway's message envelope, and letters that nobody sees.
    Masked with their kind: secrets. Spans and secrets are found in every layer of encoding: see `layers`.
    """
    text = without_invisible(_LINE_BREAK.sub("\n", text))
    text, found = _without_secrets(text)
    text, injected_blocks = _without_blocks(text)
    if injected_blocks:  # the text around a cut block may form a new tag
        text, more = _without_secrets(text)
        found += more
    private_spans = found.pop(_BLANK, 0)
    secrets = {kind.removeprefix("[masked: ").removesuffix("]"): count for kind, count in found.items() if kind}
    return Cleaned(text=text.strip(), private_spans=private_spans, secrets=secrets, injected_blocks=injected_blocks)


_HOLE = re.compile(r"\[masked: [a-z ]{2,40}\]")
_CLAUSE = re.compile(r"(?<=[.!?;,])\s+|(?<=[。！？；，\n])|\s+(?=(?:and|but)\s)|(?=而且|并且)")
_JOINT = re.compile(r"^[\s,，;；]*(?:and|but|而且|并且)?\s*|[\s,，;；]+$")
_FEWEST, _FEWEST_OF_A_HOLE = (2, 4), (3, 12)
"""English words and Chinese characters of its own that make a text, or a clause that holds a mask, worth keeping."""
_HAN = re.compile(r"(?![的是我你您了吧请帮把记住存保])[\u4e00-\u9fff]")
_NOT_ITS_OWN = table("secrets").words("words")


def without_holes(text: str) -> str:
    """Return a cleaned text without the clauses that only name a masked secret; "" if nothing of worth is left."""
    if "[masked: " not in text:
        return text
    clauses = _CLAUSE.split(text)
    kept = [each for each in clauses if not _HOLE.search(each) or _says(each, _FEWEST_OF_A_HOLE)]
    left = _JOINT.sub("", " ".join(kept)) if len(kept) < len(clauses) else text
    return left if _says(left, _FEWEST) else ""


def _says(text: str, fewest: tuple[int, int]) -> bool:
    """Whether a text says something beside masks, names of secrets, and what joins them."""
    lower = _HOLE.sub(" ", text).lower()
    spans = [(0, 0), *(name.span() for name in names(lower)), (len(lower), len(lower))]
    lower = " ".join(lower[end:start] for (_, end), (start, _) in pairwise(spans))
    words = {word for word in re.findall(r"[a-z][a-z'’-]+", lower) if word not in _NOT_ITS_OWN}
    return len(words) >= fewest[0] or len(_HAN.findall(lower)) >= fewest[1]


def _without_secrets(text: str) -> tuple[str, Counter[str]]:
    """Return the text without private spans and secrets, and their counts by replacement."""
    found: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        cuts = _cuts(text)
        if not cuts:
            return text, found
        text, made = carried_out(text, cuts, strongest=_BLANK)
        found.update(cut.instead for cut in made)
        if len(text) > _LONG and not any(cut.instead == _BLANK for cut in made):
            return text, found  # only text around a private span is joined
    # Cutting made new spans eight times, which is an attack: nothing after the next one is kept.
    cuts = _cuts(text)
    found.update([_BLANK] if cuts else [])
    return text[: min((cut.start for cut in cuts), default=len(text))], found


def _cuts(text: str) -> list[Cut]:
    cuts: list[Cut] = []
    seen: set[tuple[str, str]] = set()
    for view in views(text):
        if "private" in view.text.lower():
            view.cut([(start, end, _BLANK) for start, end in _private_spans(view.text)])
        cuts += view.cuts
        for part in view.unseen(seen) if len(text) > _LONG else [Traced(view.text, view.places)]:
            mask_secrets(part)
            cuts += part.cuts
    return cuts


def _private_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    depth = opened = 0
    for tag in _PRIVATE_TAG.finditer(text):
        if not tag[1]:
            opened = opened if depth else tag.start()
            depth += 1
        elif depth > 1:
            depth -= 1
        elif depth:
            depth = 0
            spans.append((opened, tag.end()))
        else:  # its opening tag is lost, so the private part may begin anywhere
            spans = [(0, tag.end())]
    return [*spans, (opened, len(text))] if depth else spans


def _without_blocks(text: str) -> tuple[str, int]:
    blocks = 0
    if "<" in text:
        text, blocks = _without_fences(text)
    if "emory" in text.lower() and "[" in text:
        text, count = _without_headed(text)
        blocks += count
    if "gm:" in text or "- (" in text or "* (" in text:
        text, count = _QUOTED_MEMORY.subn("", text)
        text, comments = _COMMENT.subn("", text)
        blocks += count + comments
    if "trusted" in text and "):" in text:
        text, count = _METADATA.subn("", text)
        blocks += count
    if "[message_id:" in text:
        text, count = _MESSAGE_ID.subn("", text)
        blocks += count
    return text, blocks


def _without_fences(text: str) -> tuple[str, int]:
    """Cut `<name>…</name>`. Of an unclosed block, cut the tag and the list after it."""
    kept: list[str] = []
    position = blocks = 0
    tags = list(_BLOCK_TAG.finditer(text))
    last_close = {tag[2].lower(): tag.start() for tag in tags if tag[1]}
    for index, tag in enumerate(tags):
        if tag.start() < position:
            continue
        blocks += 1
        kept.append(text[position : tag.start()])
        position = tag.end()
        name = tag[2].lower()
        if tag[1] or last_close.get(name, -1) < tag.end():
            position = _after_list(text, position)
            continue
        position = next(close.end() for close in tags[index + 1 :] if close[1] and close[2].lower() == name)
    return "\n".join((*kept, text[position:])) if blocks else text, blocks


def _without_headed(text: str) -> tuple[str, int]:
    kept: list[str] = []
    position = blocks = 0
    for heading in _HEADING.finditer(text):
        if heading.start() < position:
            continue
        blocks += 1
        kept.append(text[position : heading.start()])
        position = _after_list(text, heading.end())
    return "".join((*kept, text[position:])) if blocks else text, blocks


_LIST = re.compile(r"(?:\s{0,20}\n[ \t]{0,8}[-*•] [^\n]*){1,200}")


def _after_list(text: str, position: int) -> int:
    list_items = _LIST.match(text, position)
    return list_items.end() if list_items else position
