"""The named statements of the journal: each that the code names is there, and each that is there is used."""

import re
from pathlib import Path

from gateway_memory.store.journal import sql

NAMED = re.compile(r'SQL\["([^"]+)"\]')


def test_the_code_and_the_file_of_statements_have_the_same_names() -> None:
    modules = sorted(Path(sql.__file__).parent.glob("*.py"))
    named = {(path.stem, name) for path in modules for name in NAMED.findall(path.read_text("utf-8"))}
    assert {name for _, name in named} == sql.SQL.keys()
    assert {module for module, _ in named} == {name.partition(".")[0] for _, name in named}


def test_a_statement_is_read_as_one_line() -> None:
    assert sql.SQL["turns.add_receipt"].endswith("VALUES (?, ?, ?, ?, ?, ?) RETURNING id")
