"""Refuse to start where another package hides `extractor`, `recall` or `notifier`, which were installed with this."""

from importlib.util import find_spec
from pathlib import Path


def check_packages() -> None:
    """Check that no other module has the name of one of our packages, since their names are common and top-level.

    Raises:
        ShadowedPackageError: another module has such a name and would be imported instead of ours.
    """
    home = Path(__file__).resolve().parents[2]
    for name in ("extractor", "recall", "notifier"):
        file = _file_of(name)
        if file is None or file.resolve() != home / name / "__init__.py":
            from gateway_memory.errors import ShadowedPackageError

            raise ShadowedPackageError(name, expected=home / name, found=file)


def _file_of(name: str) -> Path | None:
    """Return the file that `import name` loads, or None."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module that was created without a file
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None
