"""What must never reach the journal: private spans, secrets, injected blocks, broken characters."""

import re

from .masking import mask_secrets
from .types import Cleaned

__all__ = ["clean"]

# Control characters, lone surrogates, Unicode tags (invisible ASCII), and what reorders or hides text. ZWJ: emoji.
_HARMFUL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ud800-\udfff\ufeff"
    "\ufff9-\uffff\U000e0000-\U000e007f]"
)
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

_PRIVATE_TAG = re.compile(
    r"(?ia)(?:<|＜|&lt;)[\s\u3000]{0,20}([/／][\s\u3000]{0,20})?private(?![\w-])(?:[^<>＜＞&]{0,1000}(?:>|＞|&gt;))?"
)

# Tags that memory systems and gateways wrap around what they put into a prompt.
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
    """The message as it may be stored. Never raises; linear in the length of the text.

    Removed: `<private>…</private>` (nested; unclosed, it reaches to the end, and unopened, to
    the beginning), our injected blocks and other systems',
    a gateway's message envelope, control characters and lone surrogates. Masked with their kind: secrets.
    """
    text = _LINE_BREAK.sub("\n", text)
    if _HARMFUL.search(text):
        text = _HARMFUL.sub("", text)
    text, private_spans = _without_private(text)
    text, injected_blocks = _without_blocks(text)
    if injected_blocks:  # what stood around a cut block may have become a tag
        text, more = _without_private(text)
        private_spans += more
    text, secrets = mask_secrets(text)
    return Cleaned(text=text.strip(), private_spans=private_spans, secrets=secrets, injected_blocks=injected_blocks)


def _without_private(text: str) -> tuple[str, int]:
    spans = 0
    for _ in range(3):
        if "private" not in text.lower():
            return text, spans
        text, found, tags = _private_pass(text)
        spans += found
        if not tags:
            return text, spans
    # Removing tags made new ones three times: somebody plays. Nothing after the next one is kept.
    tag = _PRIVATE_TAG.search(text)
    return ("" if tag[1] else text[: tag.start()], spans + 1) if tag else (text, spans)


def _private_pass(text: str) -> tuple[str, int, int]:
    """One pass: the text outside of private spans, the number of spans, and of tags seen."""
    kept: list[str] = []
    position = depth = spans = tags = 0
    for tag in _PRIVATE_TAG.finditer(text):
        tags += 1
        if not depth:
            kept.append(text[position : tag.start()])
        if not depth and tag[1]:  # its opening is lost, so nothing tells where the private part began
            kept.clear()
            spans += 1
        elif not tag[1]:
            spans += not depth
            depth += 1
        else:
            depth -= 1
        position = tag.end()
    if not depth:
        kept.append(text[position:])
    return " ".join(kept) if tags else text, spans, tags


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
    """Cuts `<name>…</name>`; of an unclosed one the tag and the list that follows it."""
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
