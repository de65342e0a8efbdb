"""Markdown files, which people can read and edit, are the source of truth. Pure functions parse and edit text.

A memory is one list item, `- Prefers Python for scripts <!-- gm:k7f3q2a1 O 0.9 -->`. The comment holds the id and the
values that differ from the defaults (type W, confidence 1.0). A line without a comment is a memory too; its id is a
digest of its text. Everything else is preserved byte for byte: lines are split at LF only and written back unchanged.

A line may also have annotations (`annotations.py`), which are no part of its text.

What a person has written says much by where it stands. So the text of a line without a comment begins with its headings
and the lines above it in its list, "Lantern › Boss › Phase 2: two cards". A heading that is a day dates it, and a
field of a form that nobody has filled in is nothing. Lines with a program's comment stand alone.
"""

import hashlib
import os
import re
import unicodedata
from base64 import b32encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Final, Literal, cast, get_args

from gateway_memory.store.annotations import is_annotation, split_annotations
from gateway_memory.store.headings import EMPHASIS, ITALIC, LABEL, RULE, days_of, is_form

MemoryType = Literal["W", "B", "O", "S"]
"""World, biographical, opinion, stage summary."""

MAX_TEXT_LENGTH = 2000
"""The maximum number of characters of one memory. A longer paragraph is split at this length."""

_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]+(?:(\[[ xX]\])[ \t]+)?(.*))?$")
COMMENT = re.compile(r"\s*<!--\s*gm:([a-z0-9]{6,12})((?:\s+[^\s<>]+){0,8})\s*-->\s*$")
_ESCAPED_COMMENT = re.compile(r"&((?:amp;)*)lt;!--")
_BOX = re.compile(r"\\*\[[ xX]\](?:\s|$)")
"""The beginning of a list item that makes it a task. After a backslash it is text."""
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_SPEAKER = re.compile(r"(user|assistant): ")
_ASKS: Final = "user: "
"""How each exchange of a conversation in a note begins, which is a paragraph of its own."""
_SECTION = "## Remembered"
_OUR_HEADINGS: Final = frozenset({"Memory", "Remembered"})
"""The headings that we write ourselves. They tell nothing about the lines below them."""
_STEP: Final = " › "
"""Between a heading and the next one, and between lines of a list in each other."""
_TAB: Final = 4
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_NAMES_ONLY: Final = re.compile(r"[*_]*(?:[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*)?|[\u3400-\u9fff]{1,4})[*_]*")
"""A line of a list that only names what stands below it: "Boss", 预算."""
_HEADS_LIST: Final = re.compile(r".{1,100}[:：][*_]*|\*\*[^*]{1,100}\*\*|__[^_]{1,100}__")
"""A line of its own that stands above a list as a heading does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A memory (`item`) or a searchable paragraph. `first` to `last` are its lines, counted from 0, inclusive."""

    kind: Literal["item", "paragraph"]
    id: str
    text: str
    first: int
    last: int
    heading: str = ""
    type: MemoryType = "W"
    confidence: float = 1.0
    marked: bool = False
    """True if a comment holds the id, so that the line was written (or is now managed) by us."""
    annotations: tuple[str, ...] = ()
    """What other comments say of a memory, such as "trigger: gateway setup"."""
    day: str = ""
    """YYYY-MM-DD, if a heading above it is a day."""
    path: tuple[str, ...] = ()
    """The headings above it, the outermost first."""
    above: tuple[str, ...] = ()
    """The lines of its list in which it stands, the outermost first."""
    box: str = ""
    """"[ ]" or "[x]" if it is a task."""
    listed: bool = False
    """Whether it stands in a list."""

    @property
    def below_heading(self) -> str:
        """The text as it stands below its heading."""
        text = self.text.removeprefix(self.heading) if self.heading else self.text
        return text[2:] if text.startswith(": ") else text.removeprefix(_STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A line to write."""

    id: str
    text: str
    type: MemoryType = "W"
    confidence: float = 1.0
    annotations: tuple[str, ...] = ()


def new_id() -> str:
    """Return a new memory id: eight characters of base32, 40 random bits."""
    return b32encode(os.urandom(5)).decode().lower()


def content_id(*parts: str) -> str:
    """Return the id of a line without an explicit id. It depends on the text, but not on its whitespace."""
    text = "\0".join(" ".join(unicodedata.normalize("NFKC", part).split()) for part in parts)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=5).digest()
    return b32encode(digest).decode().lower()


def without_spaces(text: str) -> str:
    """Return a text without its spaces and line breaks, to compare texts by their letters."""
    return "".join(text.split())


def one_line(text: str) -> str:
    """Return a text in the form for a file: one line, no control characters or lone surrogates, limited in length."""
    cleaned = "".join(
        " " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character
        for character in text[: 4 * MAX_TEXT_LENGTH]
        if unicodedata.category(character) != "Cs"
    )
    cleaned = " ".join(cleaned.split())
    return cleaned if len(cleaned) <= MAX_TEXT_LENGTH else cleaned[: MAX_TEXT_LENGTH - 1] + "…"


def render_item(addition: Addition) -> str:
    """Return the line of a memory without its line end. Escape comments in the text, so that it can't forge an id."""
    text = _escape(one_line(addition.text))
    marks = [f"gm:{addition.id}"]
    if addition.type != "W":
        marks.append(addition.type)
    if round(addition.confidence, 2) < 1:
        marks.append(f"{round(addition.confidence, 2):g}")
    comments = [*(each for each in addition.annotations if is_annotation(each)), " ".join(marks)]
    return " ".join([f"- {text}", *(f"<!-- {comment} -->" for comment in comments)])


def _escape(text: str) -> str:
    """Escape a text for a line. `_unescaped` inverts this for any text."""
    text = _ESCAPED_COMMENT.sub(lambda found: f"&amp;{found[0][1:]}", text).replace("<!--", "&lt;!--")
    return f"\\{text}" if _BOX.match(text) else text


def _unescaped(text: str) -> str:
    if text.startswith("\\") and _BOX.match(text):
        text = text[1:]
    return _ESCAPED_COMMENT.sub(lambda found: f"&{found[0][5:]}" if found[1] else "<!--", text)


def parse(text: str, *, file: str, memories: bool = True) -> list[Block]:
    """Return the memories and paragraphs of a file, in order.

    Ids are unique within the file: of two equal ids, the first line keeps it.

    memories: False for files that we never write to. Their list items are paragraphs, and of a conversation in them
    ("user: …", "assistant: …") what a host said is left out.
    """
    blocks: list[Block] = []
    ids: set[str] = set()
    lines = text.split("\n")
    found = scan(lines if memories else _heard(lines), memories=memories)
    title = _title_of(lines) if memories else ""
    for number, each in enumerate(found):
        below = found[number + 1].above if number + 1 < len(found) else ()
        heads = len(below) == len(each.above) + 1 and _NAMES_ONLY.fullmatch(each.text)  # what is below says it
        block = _placed(each, title, heads=bool(heads)) if each.listed else _prose(each, title, memories=memories)
        own = each.text
        if not block.text:
            continue
        chosen = block.id or (content_id(own) if block.kind == "item" else content_id(file, block.heading, block.text))
        occurrence = 1
        while chosen in ids:
            occurrence += 1
            chosen = content_id(file, own, str(occurrence))
        ids.add(chosen)
        blocks.append(replace(block, id=chosen, marked=bool(block.id) and chosen == block.id))
    return blocks


def _title_of(lines: Sequence[str]) -> str:
    """Return the title of a file: its first heading, if no other is of the highest rank; "" if it has none."""
    headings = [line.strip() for line in lines if line.lstrip().startswith("#") and _HEADING.match(line.rstrip("\r"))]
    highest = [heading for heading in headings if heading.startswith(("# ", "#\t"))]
    named = _HEADING.match(highest[0]) if len(highest) == 1 and headings[0] == highest[0] else None
    return (named[1] or "").strip() if named else ""


def _prose(block: Block, title: str, *, memories: bool) -> Block:
    """Return a paragraph with its headings and its day; without a text if a form says it.

    memories: of a file of memories.
    """
    day, path = _headed(block, title)
    empty = memories and (ITALIC.fullmatch(block.text) or is_form(block.text))
    heading = _STEP.join(path if memories else filter(None, block.path))
    return replace(block, day=day, heading=heading, text="" if empty else block.text)


def _headed(block: Block, title: str) -> tuple[str, list[str]]:
    """Return the day of a block's headings, and those of them that say something of it."""
    day, path = days_of(block.path)
    start = int(bool(title) and block.path[:1] == (title,))
    return day, [each for each in path[start:] if each and each not in _OUR_HEADINGS]


def _placed(block: Block, title: str, *, heads: bool = False) -> Block:
    """Return a line of a list with what its place says of it: its headings, its day, the lines above it.

    title: the file's own, which tells nothing of a line. heads: whether it is but the name of the lines below it. What
    says nothing has no text.
    """
    (of_headings, path), (of_lines, above) = _headed(block, title), days_of(block.above)
    day, heading = of_lines or of_headings, _STEP.join(path)
    if block.id or block.annotations:  # a program has written it
        return replace(block, day=day, heading=heading)
    if not block.text or heads or is_form(block.text):
        return replace(block, text="")
    steps = [*path, *filter(None, above)]
    text = f"{block.box} {block.text}" if block.box else block.text
    if steps:
        parted = LABEL.match(EMPHASIS.sub("", block.text)) or LABEL.search(steps[-1])
        colon = "：" if _HAN.match(block.text) else ": "
        text = f"{_STEP.join(steps)}{_STEP if parted else colon}{text}"
    return replace(block, day=day, heading=heading, text=text[:MAX_TEXT_LENGTH])


def told_on(block: Block, day: date) -> str:
    """Return the text of a block as it is told from a day on: with the day of its heading if that is still ahead."""
    return f"{block.day}: {block.text}" if block.day > day.isoformat() and not block.marked else block.text


def _heard(lines: list[str]) -> list[str]:
    """Return lines with empty ones for those that a host said in a conversation, and for the answers to it."""
    starts = [number for number, line in enumerate(lines) if _SPEAKER.match(line)]
    if not starts:
        return lines
    from extractor import spoken  # few notes hold a conversation, and hooks start often

    heard, woken = list(lines), False
    for start, following in pairwise((*starts, len(lines))):
        speaker = _SPEAKER.match(lines[start])
        end = next((number for number in range(start, following) if _HEADING.match(lines[number])), following)
        if speaker and speaker[1] == "user":
            text = "\n".join((lines[start][speaker.end() :], *lines[start + 1 : end]))
            said = spoken(text)
            woken = bool(text.strip()) and not said
            if said != text and not woken:
                heard[start:end] = _pad(f"user: {said}".split("\n"), end - start)
        if woken:
            heard[start:end] = _pad([], end - start)
    return heard


def _pad(lines: list[str], length: int) -> list[str]:
    return [*lines, *[""] * (length - len(lines))][:length]


def edit(text: str, *, add: Sequence[Addition] = (), remove: Iterable[str] = (), file: str, title: str) -> str:
    """Return the text with lines removed and added.

    The edit is idempotent: lines that already exist or are already gone are skipped. A line that is both removed and
    added is rewritten in its place. New lines follow the last line that we wrote. Otherwise they open a new section at
    the end, or at the top if the end is inside an unclosed code fence or comment. `title` is the heading for an empty
    file.
    """
    lines = text.split("\n")
    blocks = [block for block in parse(text, file=file) if block.kind == "item"]
    known = {block.id for block in blocks}
    removed = set(remove)
    end = "\r" if lines[0].endswith("\r") else ""
    additions = [render_item(addition) + end for addition in add if addition.id not in known]
    dropped = {number for block in blocks if block.id in removed for number in range(block.first, block.last + 1)}
    anew = {addition.id: addition for addition in add}
    rewritten = {
        block.first: _rewritten(lines[block.first], anew[block.id], block) + end
        for block in blocks
        if block.id in removed and block.id in anew
    }
    anchor = max((block.last for block in blocks if block.marked), default=None)
    result: list[str] = []
    for number, line in enumerate(lines):
        if number not in dropped:
            result.append(line)
        elif number in rewritten:
            result.append(rewritten[number])
        if number == anchor:
            result.extend(additions)
    if anchor is None and additions:
        result = _open_section(result, additions, title=title, end=end)
    elif additions and result[-1] == additions[-1]:
        result.append("")
    return "\n".join(result) if additions or dropped else text


def _rewritten(line: str, addition: Addition, was: Block) -> str:
    """Return the line of a memory with another text, as deep in its list, and with what its comments say."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + render_item(replace(addition, annotations=addition.annotations or was.annotations))


def _open_section(lines: list[str], additions: list[str], *, title: str, end: str) -> list[str]:
    if not any(line.strip() for line in lines):
        return [f"# {title}", "", *additions, ""]
    items_at_end = bool(lines) and any(
        block.kind == "item" and block.last >= _last_text(lines) for block in scan(lines, memories=True)
    )
    if items_at_end:
        body = lines[: _last_text(lines) + 1]
        return [*body, *additions, ""]
    section = [_SECTION + end, end, *additions]
    if _ends_inside(lines):
        return [*section, end, *lines]
    body = lines[: _last_text(lines) + 1]
    return [*body, end, *section, ""]


def _last_text(lines: Sequence[str]) -> int:
    return max((number for number, line in enumerate(lines) if line.strip()), default=-1)


def _ends_inside(lines: Sequence[str]) -> bool:
    """Return whether a code fence or a comment is still open at the end."""
    fence, comment = "", False
    for line in lines:
        fence, comment, _ = _step(line, fence, comment=comment)
    return bool(fence) or comment


def _step(line: str, fence: str, *, comment: bool) -> tuple[str, bool, bool]:
    """Return (open fence, open comment, whether the line is inside or borders one of them)."""
    if fence:
        closes = _FENCE.match(line)
        is_closed = bool(
            closes and closes[1][0] == fence[0] and len(closes[1]) >= len(fence) and not line.strip().strip(fence[0])
        )
        return ("" if is_closed else fence), False, True
    if comment:
        return "", "-->" not in line, True
    opens = _FENCE.match(line)
    if opens:
        return opens[1], False, True
    start = line.rfind("<!--")
    if line.lstrip().startswith("<!--") or start >= 0:
        unclosed = start >= 0 and "-->" not in line[start:]
        return "", unclosed, line.lstrip().startswith("<!--")
    return "", False, False


def scan(lines: Sequence[str], *, memories: bool) -> list[Block]:  # noqa: C901, PLR0915 - one pass, one state
    """Return the blocks with the id of their comment, or ""."""
    blocks: list[Block] = []
    fence, comment = "", False
    titles: list[tuple[int, str]] = []
    above: list[tuple[int, str]] = []
    run: list[str] = []
    run_first, run_item, box = 0, False, ""

    def close(last: int) -> None:
        nonlocal above
        if run:
            if not run_item and len(run) == 1 and _HEADS_LIST.fullmatch(run[0]):
                above = [(-1, _as_step(run[0]))]
            found = _block(run, run_first, last, titles[-1][1] if titles else "", item=run_item, memories=memories)
            path = tuple(text for _, text in titles)
            lists = tuple(text for _, text in above[:-1]) if run_item else ()
            task = box if run_item else ""
            blocks.extend(replace(each, path=path, above=lists, box=task, listed=run_item) for each in found)
            run.clear()

    for number, raw in enumerate(lines):
        line = raw.rstrip("\r")
        in_fence = bool(fence)
        fence, comment, inside = _step(line, fence, comment=comment)
        if inside:
            # Code is searchable with the text around it, and is never a list item.
            if (fence or in_fence) and not comment:
                if not run or run_item:
                    close(number - 1)
                    run_first, run_item = number, False
                run.append(line)
                if not fence:
                    close(number)
            else:
                close(number - 1)
            continue
        item = _ITEM.match(line)
        title = _HEADING.match(line)
        if title:
            close(number - 1)
            level = len(line) - len(line.lstrip().lstrip("#")) - (len(line) - len(line.lstrip()))
            titles = [*(each for each in titles if each[0] < level), (level, (title[1] or "").strip())]
            above = []
        elif item:
            close(number - 1)
            run_first, run_item, box = number, True, (item[2] or "").lower()
            indent, text = len(item[1].expandtabs(_TAB)), (item[3] or "").strip()
            above = [*(each for each in above if each[0] < indent), (indent, _as_step(text))]
            run.append(text)
        elif memories and RULE.fullmatch(line):
            close(number - 1)
            above = []
        elif not line.strip():
            close(number - 1)
        elif run and (not run_item or line[0] in " \t") and (memories or not line.startswith(_ASKS)):
            run.append(line.strip())
        else:
            close(number - 1)
            above = []
            run_first, run_item = number, False
            run.append(line.strip())
    close(len(lines) - 1)
    return blocks


def _as_step(text: str) -> str:
    """Return a line of a list as the lines in it have it before them."""
    text = COMMENT.sub("", split_annotations(text)[0])
    return EMPHASIS.sub("", text).strip().rstrip(":：").strip()


def _block(run: Sequence[str], first: int, last: int, heading: str, *, item: bool, memories: bool) -> list[Block]:
    if not item or not memories:
        text = "\n".join(COMMENT.sub("", split_annotations(part)[0]) if item else part for part in run)
        pieces = [text[start : start + MAX_TEXT_LENGTH] for start in range(0, len(text), MAX_TEXT_LENGTH)]
        return [Block(kind="paragraph", id="", text=piece, first=first, last=last, heading=heading) for piece in pieces]
    identity, confidence = "", 1.0
    kind: MemoryType = "W"
    parts: list[str] = []
    annotations: list[str] = []
    for line in run:
        part, noted = split_annotations(line)
        annotations += noted
        mark = COMMENT.search(part)
        if mark and not identity:
            identity = mark[1]
            for word in mark[2].split():
                if word in get_args(MemoryType):
                    kind = cast("MemoryType", word)
                elif re.fullmatch(r"0?\.\d+|[01](?:\.0+)?", word):
                    confidence = float(word)
            part, noted = split_annotations(part[: mark.start()])
            annotations += noted
        parts.append(_unescaped(part.strip()))
    text = " ".join(part for part in parts if part)[:MAX_TEXT_LENGTH]
    return [
        Block(
            kind="item",
            id=identity,
            text=text,
            first=first,
            last=last,
            heading=heading,
            type=kind,
            confidence=confidence,
            annotations=tuple(annotations),
        )
    ]
