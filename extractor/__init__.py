"""Extracts memories from conversations: cleaning, rules, the prefilter, models, and merging with known memories."""

from typing import TYPE_CHECKING

from gateway_memory.runtime.ground import lazy

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

_HOMES = {
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
}
"""The public names by the module that has them."""

__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = lazy(__name__, _HOMES)  # a hook that only masks a text must not load the rules and the prefilter
