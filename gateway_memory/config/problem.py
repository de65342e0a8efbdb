"""The mistakes of a config file."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway_memory.errors import ConfigError

__all__ = ["ConfigFileError", "ConfigProblem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One mistake: the dotted path of its key ("": the whole file), its line (if it has one), what was expected."""

    path: str
    line: int | None
    message: str


class ConfigFileError(ConfigError):
    """All mistakes of one config file, by line. Its text has one mistake a line, as compilers print them."""

    def __init__(self, source: str, problems: Sequence[ConfigProblem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__("\n".join(_line(source, problem) for problem in problems))


def _line(source: str, problem: ConfigProblem) -> str:
    place = source if problem.line is None else f"{source}:{problem.line}"
    return ": ".join(part for part in (place, problem.path, problem.message) if part)
