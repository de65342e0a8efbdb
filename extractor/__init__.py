"""What to keep of a conversation: cleaning, rules, the prefilter, and merging with what is known."""

from .debounce import Debouncer
from .errors import ExtractorError
from .merge import decide
from .prefilter import judge
from .redact import clean
from .rules import extract_rules
from .settings import ExtractorSettings
from .types import Candidate, Cleaned, Decision, Known, Turn, Verdict

__all__ = [
    "Candidate",
    "Cleaned",
    "Debouncer",
    "Decision",
    "ExtractorError",
    "ExtractorSettings",
    "Known",
    "Turn",
    "Verdict",
    "clean",
    "decide",
    "extract_rules",
    "judge",
]
