"""The extractor's error base. Its docstring is the default message."""

__all__ = ["ExtractorError"]


class ExtractorError(Exception):
    """The extractor could not do its work."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip().split("\n")[0])
