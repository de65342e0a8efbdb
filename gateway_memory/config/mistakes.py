"""The mistakes of a config file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway_memory.errors import ConfigError


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
        lines = (
            (source if each.line is None else f"{source}:{each.line}", each.path, each.message) for each in problems
        )
        super().__init__("\n".join(": ".join(filter(None, parts)) for parts in lines))


def unreadable(source: str | Path, message: str, line: int | None = None) -> ConfigFileError:
    """Return the error of a file that can't be read as one."""
    return ConfigFileError(str(source), [ConfigProblem(path="", line=line, message=message)])
