"""Names that memories tell: of people, pets, places, projects and other things, in English and Chinese.

What speaks for a name and against it is added up, by the weights of a table. A wrong name is worse than a missing one.
Over many sentences, a name that one of them makes certain is found in all the others.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extractor import names_of_kind
from gateway_memory.ground.tables import has_han

from .chinese import is_own, names_zh, relations_zh, unfit
from .english import names_en, relations_en
from .name import KEPT, PATTERNS, PETS, WORDS, Found, NameKind

_REPEATED: Final = 0.5
"""How much each further sentence adds of what it tells of a name."""
_MOST_REPEATED: Final = 2.0
_LONGEST_READ: Final = 600  # characters of a memory
_LEAST_OF_KIND: Final = 1.0
_MOST_COMPARED: Final = 3_000_000
"""Of more pairs of a name and a text, only those are looked at in which the name was found by what speaks for it."""
_PREFERRED: Final[tuple[NameKind, ...]] = ("person", "pet", "project", "place", "topic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A name, and which texts tell of it, as indexes of those that were read.

    relation: whose name it is to the user, as the texts say it ("sister", 妹妹), or "". Somebody of whom no text tells
    the name is called by the relation itself.
    """

    name: str
    kind: NameKind
    relation: str = ""
    texts: tuple[int, ...] = ()


def names_in(texts: Sequence[str]) -> list[Named]:
    """Return the names that texts tell, those that most of them tell first."""
    read = [text[:_LONGEST_READ] for text in texts]
    found: dict[str, list[Found]] = defaultdict(list)
    places: dict[str, list[int]] = defaultdict(list)
    relations: dict[str, set[int]] = defaultdict(set)
    for index, text in enumerate(read):
        chinese = has_han(text)
        for each in names_zh(text) if chinese else names_en(text):
            found[each.name].append(each)
            places[each.name].append(index)
        for relation in relations_zh(text) if chinese else relations_en(text):
            relations[relation].add(index)
    kept = {name: each for name, each in ((name, _summed(every)) for name, every in found.items()) if each}
    few = len(kept) * len(read) <= _MOST_COMPARED

    named_in: dict[int, set[str]] = defaultdict(set)
    for name in kept:
        for index in places[name]:
            named_in[index].add(name)

    def told_in(name: str) -> tuple[int, ...]:
        searched = range(len(read)) if few else sorted({*places[name]})
        return tuple(index for index in searched if _says_apart(read[index], name, named_in[index]))

    names = [
        Named(name=name, kind=kind, relation=relation, texts=told_in(name))
        for name, (kind, relation) in _whole(kept, own_name(texts)).items()
    ]
    return sorted(_related(names, relations), key=lambda each: (-len(each.texts), each.name))


def own_name(texts: Iterable[str]) -> str:
    """Return the user's own name by the first text that tells it, or "".

    Where none says that it is a name, as 我叫 does, what has the form of one behind 我是 is taken.
    """
    formed = ""
    for text in texts:
        if not PATTERNS["own cue"].search(text):
            continue
        if not formed and has_han(text):
            formed = _own_by_form(text[:_LONGEST_READ])
        pattern = PATTERNS["own Chinese"] if has_han(text) else PATTERNS["own"]
        for match in pattern.finditer(text[:_LONGEST_READ]):
            name = next((group for group in match.groups() if group), "").strip(" ·")
            name = re.sub(r"['’]s$", "", name)
            is_word = name.split(" ")[0].lower() in WORDS["no name"] or (has_han(name) and unfit(name))
            if name and not is_word:
                return name
    return formed


def _own_by_form(text: str) -> str:
    for match in PATTERNS["own by form"].finditer(text):
        name = match["name"]
        is_thing = name.lower() in WORDS["no name"] | WORDS["places"] or names_of_kind(name.lower())
        if is_own(name) if has_han(name) else not is_thing:
            return name
    return ""


def says_name(text: str, name: str) -> bool:
    """Return whether a text has a name in it, as a word of its own."""
    if name not in text:
        return False
    if has_han(name):
        return True
    return re.search(rf"(?<![A-Za-z0-9_À-ÿ]){re.escape(name)}(?![A-Za-z0-9_À-ÿ])", text) is not None


def _says_apart(text: str, name: str, others: Iterable[str]) -> bool:
    """Return whether a text has a name in it, and not only as a part of a longer one, as 星图 in 星图科技公司."""
    if not says_name(text, name):
        return False
    longer = [other for other in others if name in other and other != name]
    return not longer or says_name(re.sub("|".join(map(re.escape, longer)), " ", text), name)


def _summed(found: Sequence[Found]) -> tuple[NameKind, str] | None:
    """Return the kind of a name and its relation by all that was found of it; None if it is no name."""
    scores = sorted((each.score for each in found), reverse=True)
    score = scores[0] + min(_MOST_REPEATED, _REPEATED * sum(max(0.0, each) for each in scores[1:]))
    if score < KEPT:
        return None
    kinds: Counter[NameKind] = Counter()
    for each in found:
        kinds.update(each.kinds)
    most = max(kinds.values(), default=0.0)
    kind: NameKind = next((each for each in _PREFERRED if kinds[each] == most and most >= _LEAST_OF_KIND), "topic")
    relations = Counter(each.relation for each in found if each.relation)
    return kind, relations.most_common(1)[0][0] if relations and kind in ("person", "pet") else ""


def _whole(kept: dict[str, tuple[NameKind, str]], own: str) -> dict[str, tuple[NameKind, str]]:
    """Return the names without the user's own, and without those that are the first part of one longer name."""
    whole = {name: each for name, each in kept.items() if name not in {own, *own.split(" ")[:1]}}
    for name, (kind, _) in kept.items():
        longer = [other for other in kept if other.startswith(f"{name} ")]
        if len(longer) == 1 and kind in ("person", "topic") and kept[longer[0]][0] in ("person", "topic"):
            whole.pop(name, None)
    return whole


def _related(names: Sequence[Named], relations: dict[str, set[int]]) -> Iterator[Named]:
    """Yield the names with the texts that tell of somebody by the relation alone, then those whose name none tells."""
    bearers = Counter(each.relation for each in names if each.relation)
    for each in names:
        own = relations[each.relation] if bearers[each.relation] == 1 and each.relation in relations else set()
        yield Named(name=each.name, kind=each.kind, relation=each.relation, texts=tuple(sorted({*each.texts, *own})))
    for relation, texts in relations.items():
        if not bearers[relation]:
            kind: NameKind = "pet" if relation in PETS | WORDS["pets Chinese"] else "person"
            yield Named(name=relation, kind=kind, relation=relation, texts=tuple(sorted(texts)))
