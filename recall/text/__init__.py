"""Words, dates and tokens of texts."""

from typing import Final

from gateway_memory.runtime.tables import tables_in

table: Final = tables_in(__file__)
