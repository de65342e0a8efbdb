"""What the extractor knows of English and Chinese, as tables: `gateway_memory/ground/tables.py` reads them."""

from typing import Final

from gateway_memory.ground.tables import tables_in

table: Final = tables_in(__file__)
