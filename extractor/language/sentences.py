"""Splits a message into sentences and clauses, without code, logs and quotations."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "QUOTED",
    "Clause",
    "Sentence",
    "is_machine_line",
    "quotations",
    "sentences",
    "without_code_blocks",
    "without_quotations",
    "without_single_quotations",
]

LONGEST_READ = 20_000  # characters of one message; a longer one was pasted, and its start tells its purpose
QUOTED = "\ue000"  # stands for each quoted character while a rule matches

_CODE_BLOCK = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_QUOTATION = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|「[^「」\n]*」|『[^『』\n]*』|‘[^‘’\n]{12,}’|`[^`\n]*`")
_SINGLE_QUOTED = re.compile(r"(?<![\w'])'[^'\n]{8,}'(?!\w)")
_MACHINE_LINE = re.compile(
    r"""^[ \t]*(?:
      [>│┃|] | \$[ ] | [#](?:!/|include\b|define\b) | >>> | \w+@[\w.-]+[:~] | (?:PS[ ])?[A-Z]:\\
    | \+\+\+[ ] | ---[ \t]*$ | @@[ ]
    | import\s+[\w.{*]+(?:\s+(?:as|from)\b.*|\s*;|\s*$) | from\s+[\w.]+\s+import\b
    | (?:def|class|func|fn|function|interface|struct|enum|package|namespace|async\s+def)\s+\w+.*[({:;]\s*$
    | (?:const|let|var)\s+[\w{\[][^=]{0,60}=
    | (?:public|private|protected|static|final|async|export|return|if|for|while|elif|else|try|except|catch|switch
       |with)\b.*[{;]\s*$
    | (?:SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|CREATE\s+TABLE|ALTER\s+TABLE|DROP)\s.+
    | (?:sudo|npx|kubectl|curl|wget|chmod|ssh|apt-get)\s+[-\w./].{0,200}$ | (?:make|cat|cd|ls)\s+\S+\s*$
    | (?:npm|yarn|pnpm|pip3?|docker|git|brew|cargo|apt)\s+
      (?:-|install|run|build|add|commit|push|pull|clone|checkout|ps|exec|compose|test|update|status|log|diff)\b
      .{0,200}$
    | \[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d.* | \[?\d\d:\d\d:\d\d[\].,]?.*
    | \[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b.*
    | (?:Traceback|Caused\s+by:|panic:|fatal:|npm\s+ERR!|E\s{3}).* | [\w.]*(?:Error|Exception)\s*(?::|\bat\b).*
    | at\s+[\w$.<>]+\s*\(.* | File\s+"[^"]*",\s+line.*
    | <[/!]?[a-zA-Z][\w-]*(?:\s[^<>]*)?/?>.* | [}\])]+[;,]?\s*$ | "[\w-]+"\s*:\s*.+,?\s*$ | .*[;{]\s*$
    )""",
    re.VERBOSE,
)
# A full stop ends a sentence before white space, unless it follows an initial, an abbreviation or a list number.
_BREAK = re.compile(
    r"[。！？!?；…～]+[”」』\"')）]*|(?:\.+|;)[\"')]*(?=\s|$)(?<!\b[A-Za-z]\.)(?<!^\d\.)(?<!^\d\d\.)"
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\b[MD]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bvs\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\betc\.)"
    r"|(?<=[\u3000-\u9fff])\.+(?=\s|$|[\u4e00-\u9fff])"
)
_ITEM = re.compile(r"^[ \t]*(?:[-*•·–]|\(?\d{1,2}[.)、）]|[（(]?[一二三四五六七八九十]{1,2}[)）、.])[ \t]*")
_CLAUSE_BREAK = re.compile(
    r"[，,、]?(?:[，]|,(?=\s)| [—–-]{1,2} |——|(?<=\w) (?=but (?!also)|and (?:i|we|my|our|please|can|could)\b"
    r"|so (?:short|brief|plain|simple|easy|small|one|i|we|can|could|please|let|what|how|keep|don't|never|always"
    r"|only|skip|no|stick|leave|avoid|use|give|speak"
    r"|write|talk|put|break|explain|go|make|nothing)\b|because )"
    r"|(?=(?:但是?我|不过我|所以(?:我|你|请|帮)|并且我|而且我)))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause of a sentence. plain: of the text's length, with quotations blanked and straight apostrophes."""

    start: int
    end: int
    plain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence without its end mark. text and plain have the same length; clauses index into both."""

    text: str
    plain: str
    question: bool
    item: bool
    clauses: tuple[Clause, ...]


def without_code_blocks(text: str) -> str:
    """Return a text without fenced code; an unclosed fence reaches to the end."""
    return _CODE_BLOCK.sub("\n", text) if "```" in text or "~~~" in text else text


def is_machine_line(line: str) -> bool:
    """Return whether a line is code, a log, a trace, a shell command or a quotation: not the user's own words."""
    return bool(_MACHINE_LINE.match(line[:300]))


def quotations(text: str) -> list[str]:
    """Return what stands in quotation marks in a text, with its marks."""
    return [match[0] for match in _QUOTATION.finditer(text)]


def without_quotations(text: str) -> str:
    """Return a text of the same length with each quoted character replaced by `QUOTED`."""
    return _QUOTATION.sub(lambda quotation: quotation[0][0] + QUOTED * (len(quotation[0]) - 2) + quotation[0][-1], text)


def without_single_quotations(text: str) -> str:
    """Return a text of the same length with each character in single quotation marks replaced by `QUOTED`."""
    return _SINGLE_QUOTED.sub(lambda quotation: QUOTED * len(quotation[0]), text) if "'" in text else text


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a message in order. Linear; reads at most `LONGEST_READ` characters."""
    found: list[Sentence] = []
    for line in without_code_blocks(text[:LONGEST_READ]).split("\n"):
        if line.strip() and not is_machine_line(line):
            found += _of_line(line)
    return found


def _of_line(line: str) -> Iterator[Sentence]:
    marker = _ITEM.match(line)
    if marker:
        line = line[marker.end() :]
    line = _EMPHASIS.sub(r"\2", line)
    plain = _plain(line)
    position = 0
    for end_mark in _BREAK.finditer(plain):
        yield from _sentence(line, plain, position, end_mark.start(), end_mark[0], item=bool(marker))
        position = end_mark.end()
    yield from _sentence(line, plain, position, len(line), "", item=bool(marker))


def _sentence(line: str, plain: str, start: int, end: int, end_mark: str, *, item: bool) -> Iterator[Sentence]:
    while start < end and (plain[start].isspace() or plain[start] in "*_#)]"):
        start += 1
    while end > start and (plain[end - 1].isspace() or plain[end - 1] in "*_#([-,，、:：~"):
        end -= 1
    if start < end:
        piece = plain[start:end]
        yield Sentence(
            text=line[start:end],
            plain=piece,
            question="?" in end_mark or "？" in end_mark,
            item=item,
            clauses=tuple(_clauses(piece)),
        )


_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.{1,200}?)(?<=\S)\1")


def _plain(line: str) -> str:
    line = line.replace("’", "'").replace("\t", " ")
    return without_single_quotations(without_quotations(line))


# "My husband", "Rui": no clause of its own before "and I".
_PERSON = re.compile(
    r"(?:(?:so|and|but|also|oh|well|yes|yeah|ok(?:ay)?),? ){0,2}+(?!(?:i|we|you|he|she|it|they)\b)[\w'-]+"
    r"(?: [\w'-]+){0,3}",
    re.IGNORECASE,
)
_AND_I = re.compile(r"and (?:i|we|my|our)\b", re.IGNORECASE)
_LONGEST_PERSON = 60  # characters


def _joins_persons(plain: str, start: int, found: re.Match[str]) -> bool:
    """Return whether "and I", "and my wife" joins persons, not clauses."""
    return (
        plain.startswith("and ", found.end())
        and found.start() - start <= _LONGEST_PERSON
        and bool(_AND_I.match(plain, found.end()))
        and bool(_PERSON.fullmatch(plain, start, found.start()))
    )


def _clauses(plain: str) -> Iterator[Clause]:
    position = 0
    for match in (*_CLAUSE_BREAK.finditer(plain), None):
        if match and _joins_persons(plain, position, match):
            continue
        start, end = position, match.start() if match else len(plain)
        position = match.end() if match else end
        while start < end and plain[start].isspace():
            start += 1
        while end > start and plain[end - 1].isspace():
            end -= 1
        if start < end:
            yield Clause(start=start, end=end, plain=plain[start:end])
