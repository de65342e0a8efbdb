"""Extracts memories from conversations: cleaning, rules, the prefilter, models, and merging with known memories."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .categories import CATEGORIES, Category, traits_of
    from .cleaning.clean import clean, without_holes
    from .cleaning.injection import without_commands
    from .gate.judge import judge, statements, telling
    from .language.kind import has_han, is_greeting, is_mostly_chinese, is_small_talk
    from .language.sentences import without_quotations
    from .language.values import is_over
    from .language.vocabulary import polarity
    from .meaning import Meaning, meaning_of, understood
    from .merge.decide import OPEN, decide, says, settled, unsure
    from .merge.doubt import ReviewMode, doubt_of
    from .merge.statement import same_text, without_withdrawn
    from .merge.unread import stands_alone, with_unread
    from .model.model import Extraction, Model
    from .model.permission import concerns, permitted, permitted_fact, permitted_summary, permitted_text, without_orders
    from .model.providers import access_of, has_model
    from .model.summary import Seen, Summary, SummaryInput, summarize, written
    from .rules.borrowed import own_words
    from .rules.extract import extract_rules
    from .settings import ExtractorSettings, check_model
    from .timing import Debouncer
    from .types import (
        Candidate,
        Cleaned,
        Decision,
        Doubt,
        ExtractorError,
        Kept,
        Known,
        ModelError,
        Turn,
        Usage,
        Verdict,
    )

__all__ = [
    "CATEGORIES",
    "OPEN",
    "Candidate",
    "Category",
    "Cleaned",
    "Debouncer",
    "Decision",
    "Doubt",
    "Extraction",
    "ExtractorError",
    "ExtractorSettings",
    "Kept",
    "Known",
    "Meaning",
    "Model",
    "ModelError",
    "ReviewMode",
    "Seen",
    "Summary",
    "SummaryInput",
    "Turn",
    "Usage",
    "Verdict",
    "access_of",
    "check_model",
    "clean",
    "concerns",
    "decide",
    "doubt_of",
    "extract_rules",
    "has_han",
    "has_model",
    "is_greeting",
    "is_mostly_chinese",
    "is_over",
    "is_small_talk",
    "judge",
    "meaning_of",
    "own_words",
    "permitted",
    "permitted_fact",
    "permitted_summary",
    "permitted_text",
    "polarity",
    "same_text",
    "says",
    "settled",
    "stands_alone",
    "statements",
    "summarize",
    "telling",
    "traits_of",
    "understood",
    "unsure",
    "with_unread",
    "without_commands",
    "without_holes",
    "without_orders",
    "without_quotations",
    "without_withdrawn",
    "written",
]

_HOMES = {
    name: module
    for module, names in {
        "categories": "CATEGORIES Category traits_of",
        "cleaning.clean": "clean without_holes",
        "cleaning.injection": "without_commands",
        "gate.judge": "judge statements telling",
        "language.kind": "has_han is_greeting is_mostly_chinese is_small_talk",
        "language.sentences": "without_quotations",
        "language.values": "is_over",
        "language.vocabulary": "polarity",
        "meaning": "Meaning meaning_of understood",
        "merge.decide": "OPEN decide says settled unsure",
        "merge.doubt": "ReviewMode doubt_of",
        "merge.statement": "same_text without_withdrawn",
        "merge.unread": "stands_alone with_unread",
        "model.model": "Extraction Model",
        "model.permission": "concerns permitted permitted_fact permitted_summary permitted_text without_orders",
        "model.providers": "access_of has_model",
        "model.summary": "Seen Summary SummaryInput summarize written",
        "rules.borrowed": "own_words",
        "rules.extract": "extract_rules",
        "settings": "ExtractorSettings check_model",
        "timing": "Debouncer",
        "types": "Candidate Cleaned Decision Doubt ExtractorError Kept Known ModelError Turn Usage Verdict",
    }.items()
    for name in names.split()
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a hook that only masks a text must not load the rules and the prefilter."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
