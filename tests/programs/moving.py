"""Move a memory, and be killed where the first argument says: N is the Nth time that rows are stored, -N just before.

0 is after the numbers were set, and anything else of `gateway-memory move` follows.
"""

import os
import signal
import sys
from collections.abc import Iterable, Sequence

from gateway_memory.cli.main import main
from gateway_memory.store.journal.migration import FilesSide
from gateway_memory.store.migration import Cursor, Row
from gateway_memory.store.postgres.side import PostgresSide


def die() -> None:
    """End this process as the kernel would when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(side: type[FilesSide] | type[PostgresSide], when: int) -> None:
    """Let the methods of a side kill the process."""
    put, count_on, done, times = side.put, side.count_on, 0, 0

    def mortal(self, part: str, columns: Sequence[str], rows: Iterable[Row], cursor: Cursor) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        nonlocal done
        done += 1

        def read() -> Iterable[Row]:
            yield from rows
            if done == -when:
                die()

        put(self, part, columns, read(), cursor)
        if done == when:
            die()

    def counted(self, counters: dict[str, int]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        nonlocal times
        count_on(self, counters)
        times += 1
        if when == 0 and times == 2:  # the first time makes room for what comes
            die()

    side.put, side.count_on = mortal, counted  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    for side in (FilesSide, PostgresSide):
        killed_at(side, int(sys.argv[1]))
    raise SystemExit(main(sys.argv[2:]))
