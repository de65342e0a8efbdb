"""What to keep of a conversation: cleaning, rules, the prefilter, and merging with what is known."""

from .authority import permitted
from .debounce import Debouncer
from .errors import ExtractorError, ModelError
from .merge import decide, settled, unsure
from .model import Extraction, Model
from .overlap import same_words
from .prefilter import judge
from .providers import has_model
from .redact import clean
from .rules import extract_rules
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
    "same_words",
    "settled",
    "summarize",
    "unsure",
    "written",
]
