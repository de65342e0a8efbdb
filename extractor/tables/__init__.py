"""What the extractor knows of English and Chinese, as tables: `gateway_memory/runtime/tables.py` reads them."""

from typing import Final

from gateway_memory.runtime.tables import tables_in

table: Final = tables_in(__file__)
