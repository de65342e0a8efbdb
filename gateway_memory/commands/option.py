"""An option of a command."""

from dataclasses import dataclass

__all__ = ["Option", "Text"]

Text = tuple[str, str]
"""In English and in Chinese."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option, which a shell writes `--name VALUE`.

    metavar: what its value is called in help; "" for an option without a value. in_chat: how its value is written in
    the chat; "" for `--name=VALUE`.
    """

    name: str
    help: Text
    metavar: str = ""
    in_chat: str = ""

    def as_typed(self, value: str) -> str:
        """Return the option as a person types it in the chat."""
        return (self.in_chat or (f"--{self.name}={{}}" if self.metavar else f"--{self.name}")).format(value)
