"""What to keep of a conversation: cleaning, rules, the prefilter, and merging with what is known."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .authority import permitted, permitted_fact, permitted_summary
    from .cleaning.clean import clean
    from .cleaning.injection import without_commands
    from .debounce import Debouncer
    from .errors import ExtractorError, ModelError
    from .gate.judge import judge
    from .language.overlap import same_words
    from .language.vocabulary import polarity
    from .merge.decide import decide, settled, unsure
    from .model import Extraction, Model
    from .providers import has_model
    from .rules.extract import extract_rules
    from .settings import ExtractorSettings
    from .summary import Seen, Summary, SummaryInput, summarize, written
    from .types import Candidate, Cleaned, Decision, Known, Turn, Usage, Verdict

__all__ = [
    "Candidate",
    "Cleaned",
    "Debouncer",
    "Decision",
    "Extraction",
    "ExtractorError",
    "ExtractorSettings",
    "Known",
    "Model",
    "ModelError",
    "Seen",
    "Summary",
    "SummaryInput",
    "Turn",
    "Usage",
    "Verdict",
    "clean",
    "decide",
    "extract_rules",
    "has_model",
    "judge",
    "permitted",
    "permitted_fact",
    "permitted_summary",
    "polarity",
    "same_words",
    "settled",
    "summarize",
    "unsure",
    "without_commands",
    "written",
]

_HOMES = {
    "Candidate": "types",
    "Cleaned": "types",
    "Debouncer": "debounce",
    "Decision": "types",
    "Extraction": "model",
    "ExtractorError": "errors",
    "ExtractorSettings": "settings",
    "Known": "types",
    "Model": "model",
    "ModelError": "errors",
    "Seen": "summary",
    "Summary": "summary",
    "SummaryInput": "summary",
    "Turn": "types",
    "Usage": "types",
    "Verdict": "types",
    "clean": "cleaning.clean",
    "decide": "merge.decide",
    "extract_rules": "rules.extract",
    "has_model": "providers",
    "judge": "gate.judge",
    "permitted": "authority",
    "permitted_fact": "authority",
    "permitted_summary": "authority",
    "polarity": "language.vocabulary",
    "same_words": "language.overlap",
    "settled": "merge.decide",
    "summarize": "summary",
    "unsure": "merge.decide",
    "without_commands": "cleaning.injection",
    "written": "summary",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: a hook that masks a text needs no rules and no prefilter."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
