"""The extractor's error base. Its docstring is the default message."""

from .types import Usage

__all__ = ["ExtractorError", "ModelError"]


class ExtractorError(Exception):
    """The extractor could not do its work."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip().split("\n")[0])


class ModelError(ExtractorError):
    """The model returned no usable answer.

    kind: "timeout", "connection", "overloaded", "rate_limit", "refused" (a key, a model, a request), "too_long" (for
    the model's context), "truncated", "unreadable", "redirects", "too_large" (an answer, or one that is compressed) or
    "circuit_open".
    usage: the cost of the failed attempts. Its text never quotes a message.
    """

    def __init__(
        self,
        kind: str,
        *,
        retryable: bool = False,
        retry_after_seconds: float | None = None,
        format_refused: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(f"the model gave no usable answer: {kind}")
        self.kind = kind
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.format_refused = format_refused
        self.usage = usage or Usage()
