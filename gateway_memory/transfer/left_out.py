"""What lies at a path of an import and was not read: nothing stays behind without being named."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from gateway_memory.store.documents import original_of
from gateway_memory.transfer.items import Item, LeftOut

_MOST: Final = 20_000
"""Files below a path that are looked at."""
_BEHIND: Final = re.compile(r"(?::\d+|: (?:session|conversation|row) .*)\Z")
"""What a place has behind the name of its file."""
_NAMED: Final = 3


def with_left_out(items: Iterable[Item], path: Path) -> Iterator[Item]:
    """Yield items, and behind them each file at a path of which none of them came."""
    read: set[str] = set()
    for item in items:
        read.add(_BEHIND.sub("", item.place))
        yield item
    for file in [path] if path.is_file() else files_below(path):
        name = str(file)
        if name not in read and file.stat().st_size and not any(place.startswith(f"{name}/") for place in read):
            yield LeftOut(place=name)


def files_below(folder: Path, suffix: str = "", *, within: Path | None = None) -> Iterator[Path]:
    """Yield the files in a folder and below it, sorted, also behind links that stay `within`; none that is hidden."""
    within = (within or folder).resolve()
    seen: set[Path] = set()
    number = 0
    for at, folders, names in os.walk(folder, followlinks=True):
        real = Path(at).resolve()
        if real in seen or not real.is_relative_to(within):
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(at) / name
            if not name.startswith(".") and name.endswith(suffix) and file.is_file():
                number += 1
                if number > _MOST:
                    return
                yield file


def copied_from(file: Path) -> Path | None:
    """Return the file of which a file is a copy that a sync has made, if it is there."""
    name = original_of(file.name)
    return original if name and (original := file.with_name(name)).is_file() else None


def summary(places: Iterable[str], path: Path) -> str:
    """Return how many files were left out, and some of their names: "2 files (memory/a.txt, b.json)"."""
    names = [os.path.relpath(place, path) if path.is_dir() else Path(place).name for place in places]
    by_folder = Counter(str(Path(name).parent) for name in names)
    shown = [
        name if number == 1 else f"{folder}/… ({number})"
        for folder, number in by_folder.most_common()
        for name in [next(each for each in names if str(Path(each).parent) == folder)]
    ]
    if len(names) <= _NAMED:
        shown = names
    more = f", … {len(shown) - 2 * _NAMED} more folders" if len(shown) > 2 * _NAMED else ""
    return f"{len(names)} {'file' if len(names) == 1 else 'files'} ({', '.join(shown[: 2 * _NAMED])}{more})"
