"""Names in Chinese sentences: their form tells them, and what stands before them and behind them."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from extractor import names_of_kind
from gateway_memory.ground.tables import has_han

from .name import WORDS, Found, NameKind, quoted


def _any_of(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_HAN: Final = "\u4e00-\u9fff"
_SURNAMES: Final = _any_of(WORDS["surnames"])
_KIN_ZH: Final = _any_of(WORDS["kin Chinese"])
_PETS_ZH: Final = _any_of(WORDS["pets Chinese"])
_NOUNS_ZH: Final = _any_of(WORDS["kin Chinese"] | WORDS["pets Chinese"] | WORDS["projects Chinese"])
_IS_KIN: Final = re.compile(
    rf"(?:^|(?<=[，。,；;！!\s]))(?P<name>[{_HAN}]{{2,3}}|[A-Z]\w+)是(?:我|用[户戶]|咱)(?:[们們]?家?的?|[带帶]的)"
    rf"(?P<noun>{_KIN_ZH}|{_PETS_ZH})(?=$|[，。,；;！!、\s])"
)
_BESIDE_KIN: Final = re.compile(rf"(?<!小)(?P<noun>{_KIN_ZH}|{_PETS_ZH})(?P<rest>[{_HAN}]{{2,3}})")
_CALLED: Final = re.compile(
    rf"(?<!小)(?P<noun>{_NOUNS_ZH})[^。；;！!？?我]{{0,10}}?(?:名叫|叫做|名字叫|名字是|取名|起名叫?|名为|叫)[“\"「]?"
    rf"(?P<rest>[{_HAN}]{{2,4}})"
)
_TITLED: Final = re.compile(rf"(?P<name>(?:{_SURNAMES})(?:{_any_of(WORDS['titles Chinese'])}))")
_SMALL: Final = re.compile(rf"(?P<name>[小老阿](?:{_SURNAMES}))")
_BESIDE: Final = re.compile(rf"[和跟与與陪约約找](?=(?P<rest>[{_HAN}]{{2,3}}))")
_PLACE_ZH: Final = re.compile(_any_of(WORDS["places Chinese"]))
_LIVED_IN: Final = re.compile(
    rf"(?:住在|搬到|搬去|搬回|定居在?|(?<![后後])[来來]自|出生于|出生在|老家在|老家是|前往|[飞飛]往|去[过過])了?(?=(?P<rest>[{_HAN}]{{2,4}}))"
)
_OF_FORM: Final = re.compile(rf"[在去到从回](?P<name>[{_HAN}]{{2,3}}(?:山|湖|岛|镇|村|县|寺|湾))")
_EMPLOYER: Final = re.compile(rf"[在去到](?P<name>[{_HAN}]{{2,5}}(?:{_any_of(WORDS['organisations Chinese'])}))")
_LATIN: Final = re.compile(r"[A-Za-zÀ-ÿ][\w.+#'-]*(?: [A-Z][\w.+#'-]*)*", re.ASCII)
_USING_ZH: Final = re.compile(
    r"(?:用|喜欢|学|写|玩|看|电脑是|手机是|开发|维护|部署|迁移到|换成|改成|在)[^，。,；;！!]{0,12}$"
)


_ENDS: Final = "".join(WORDS["ends"])
_RELATION_ZH: Final = re.compile(
    rf"(?:我|用[户戶]|咱)[们們]?家?(?:的?|的[{_HAN}]{{1,4}}?)(?P<noun>{_KIN_ZH}|{_PETS_ZH})"
    rf"|(?:^|(?<=[，。,；;！!\s]))(?P<alone>{_KIN_ZH})(?=[{_ENDS}])"
)
"""Whose they are, as 我的健身教练; or they alone begin a clause, as in 婆婆带孩子."""
_KIN_BEFORE: Final = re.compile(rf"(?P<noun>{_KIN_ZH}|{_PETS_ZH})(?P<called>[^。；;我]{{0,8}}?叫做?|的名字[是叫])?$")
_PROJECT_BEFORE: Final = re.compile(rf"(?:{_any_of(WORDS['projects Chinese'])})(?:[^。；;]{{0,8}}?叫做?)?$")
_SHORT: Final = 2
"""Characters of a name without a surname, and of most names of places."""
_LENGTHS: Final = (_SHORT, 3)


def unfit(name: str) -> bool:
    """Return whether Chinese characters are no name."""
    return (
        any(each in name for each in WORDS["not in names"] | WORDS["no names Chinese"]) or name in WORDS["kin Chinese"]
    )


def is_own(name: str) -> bool:
    """Return whether Chinese characters have the form of the name of somebody who says 我是 before them."""
    words = WORDS["no own names"] | WORDS["places Chinese"]
    if unfit(name) or name[-1] in WORDS["no own endings"] or name.startswith(tuple(words)):
        return False
    if len(name) == _SHORT and name[0] in "小老":
        return name[1] in WORDS["surnames"] | (WORDS["given"] if name[0] == "小" else frozenset())
    if len(name) == _SHORT and (name[0] == "阿" or name[0] == name[1]):
        return name[0] == "阿" or name[0] in WORDS["given"]
    return any(name[:n] in WORDS["surnames"] and n < len(name) <= n + _SHORT for n in (2, 1))


def _shaped(found: Found) -> bool:
    """Add what the form of a Chinese name says; return False if it can be none."""
    name = found.name
    if unfit(name):
        return False
    surname = next((n for n in (2, 1) if name[:n] in WORDS["surnames"] and n < len(name)), 0)
    formed = True
    if surname:
        found.add("surname")
    elif len(name) == _SHORT and (name[0] in "小阿" or (name[0] == "老" and name[1] in WORDS["surnames"])):
        found.add("diminutive")
    elif len(name) == _SHORT and name[0] == name[1]:
        found.add("doubled")
    else:
        formed = False
    given = sum(each in WORDS["given"] for each in name[surname:])
    found.add("given", share=given)
    if not formed and len(name) != _SHORT:
        found.add("plain", share=2)
    elif not formed and not given:
        found.add("plain")
    return True


def _bounded(found: Found, behind: str, ends: str = "ends") -> None:
    """Add what the character behind a Chinese name says."""
    if not re.match(rf"[{_HAN}]", behind):
        found.add("ended")
    else:
        found.add("begins" if behind[0] in WORDS[ends] else "runs on")


def _best(text: str, at: int, lengths: Iterable[int], cue: str, kind: NameKind) -> Found | None:
    """Return the likeliest name that begins at a place."""
    best: Found | None = None
    for length in lengths:
        found = Found(text[at : at + length])
        if len(found.name) == length and re.fullmatch(rf"[{_HAN}]+", found.name) and _shaped(found):
            found.add(cue, kind)
            _bounded(found, text[at + length : at + length + 1])
            if best is None or found.score > best.score:
                best = found
    return best


def _kind_of_noun(noun: str) -> NameKind:
    if noun in WORDS["pets Chinese"]:
        return "pet"
    return "person" if noun in WORDS["kin Chinese"] else "project"


def names_zh(text: str) -> Iterator[Found]:
    """Yield what may be names in a text, each with what speaks for it."""
    yield from _of_kin(text)
    yield from _by_form(text)
    yield from _of_places(text)
    yield from _of_employers(text)
    yield from _latin(text)
    yield from quoted(text)


def _of_kin(text: str) -> Iterator[Found]:
    """Yield people and pets who are told by what they are to the user, and projects that are called something."""
    for match in _BESIDE_KIN.finditer(text):
        if found := _best(text, match.start("rest"), _LENGTHS, "kin Chinese", _kind_of_noun(match["noun"])):
            found.relation = match["noun"]
            yield found
    for match in _CALLED.finditer(text):
        kind = _kind_of_noun(match["noun"])
        lengths = (*_LENGTHS, 4) if kind == "project" else _LENGTHS
        if found := _best(text, match.start("rest"), lengths, "called", kind):
            found.relation = match["noun"] if kind != "project" else ""
            yield found
    for match in _IS_KIN.finditer(text):
        found = Found(match["name"], relation=match["noun"])
        if not has_han(found.name) or _shaped(found):
            found.add("kin Chinese", _kind_of_noun(match["noun"]))
            found.add("ended")
            yield found


def _by_form(text: str) -> Iterator[Found]:
    """Yield people whose names have a form of their own: 王老师, 小李, and 和周蔓."""
    for pattern, weight in ((_TITLED, "title"), (_SMALL, "diminutive")):
        for match in pattern.finditer(text):
            before, found = text[: match.start()][-1:], Found(match["name"])
            if found.name in WORDS["no names Chinese"]:
                continue
            found.add(weight, "person")
            _bounded(found, text[match.end() :][:1])
            if re.match(rf"[{_HAN}]", before):
                found.add("after a word" if before in WORDS["before names"] else "runs on", "person")
            else:
                found.add("at the start", "person")
            yield found
    for match in _BESIDE.finditer(text):
        if beside := _best(text, match.start("rest"), _LENGTHS, "with Chinese", "person"):
            beside.kinds["person"] += 1
            yield beside


def _of_places(text: str) -> Iterator[Found]:
    """Yield places: those of the table, where somebody lives, and mountains, islands and the like."""
    for match in _PLACE_ZH.finditer(text):
        found = Found(match[0])
        found.add("place known", "place")
        if text.startswith(tuple(WORDS["after places Chinese"]), match.end()):
            found.add("beside")
        yield found
    for match in _LIVED_IN.finditer(text):
        lived = [Found(match["rest"][:length]) for length in _LENGTHS if len(match["rest"]) >= length]
        lived = [found for found in lived if not _is_no_place(found.name)]
        for found in lived:
            found.add("lived in", "place")
            _bounded(found, text[match.start("rest") + len(found.name) :][:1], "ends of places")
        yield from sorted(lived, key=lambda found: found.score)[-1:]
    for match in _OF_FORM.finditer(text):
        if not _is_no_place(match["name"]):
            formed = Found(match["name"])
            formed.add("place before", "place")
            formed.add("suffix", "place")
            yield formed


def _is_no_place(name: str) -> bool:
    return unfit(name) or not set(name).isdisjoint(WORDS["no places"])


def _of_employers(text: str) -> Iterator[Found]:
    for match in _EMPLOYER.finditer(text):
        found = Found(match["name"])
        if set(found.name).isdisjoint(WORDS["not in names"]) and found.name[:_SHORT] not in WORDS["no names Chinese"]:
            found.add("employer", "topic")
            found.add("suffix", "topic")
            yield found


def _latin(text: str) -> Iterator[Found]:
    """Yield names in Latin letters within Chinese."""
    for match in _LATIN.finditer(text):
        found = Found(match[0].rstrip(".'-"))
        low = found.name.lower()
        if low in WORDS["no name"] or len(low) == 1:
            continue
        if found.name[0].isupper():
            found.add("latin")
        if " " in found.name:
            found.add("several words")
        if found.name.isupper():
            found.add("capitals")
        elif any(character.isupper() for character in found.name[1:]):
            found.add("mixed case", "topic")
        _in_chinese(found, text[: match.start()].rstrip(' “"「'), text[match.end() :].lstrip(' ”"」'))
        yield found


def _in_chinese(found: Found, before: str, after: str) -> None:
    """Add what the Chinese around a name in Latin letters says."""
    low = found.name.lower()
    kin = _KIN_BEFORE.search(before)
    if kin:
        found.add("called" if kin["called"] else "kin Chinese", _kind_of_noun(kin["noun"]))
        found.relation = kin["noun"]
    elif _PROJECT_BEFORE.search(before) or after.startswith(tuple(WORDS["projects Chinese"])):
        found.add("project", "project")
    if low in WORDS["places"]:
        found.add("place known", "place")
    elif low.startswith(tuple(f"{title} " for title in WORDS["titles"])):
        found.add("title", "person")
    elif names_of_kind(low).keys() & WORDS["topics"]:
        found.add("thing", "topic")
    elif not kin and _USING_ZH.search(before):
        found.add("used", "topic")


def relations_zh(text: str) -> Iterator[str]:
    """Yield the relations of people and pets of whom a text tells without a name, as 用户的妹妹."""
    yield from (match["noun"] or match["alone"] for match in _RELATION_ZH.finditer(text))
