"""The texts that people read: each is there in both languages, and each that the code names exists."""

import argparse
import ast
import errno
import json
import os
import re
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest

import gateway_memory
from extractor.types import Doubt, Reason
from gateway_memory.capture.distiller import Reason as DistillReason
from gateway_memory.edge import phrases
from gateway_memory.edge.phrases import coded, texts
from gateway_memory.serving.page.views import TABS, VIEWS
from gateway_memory.store.plan import Cause, State

FILES = sorted(path.stem for path in (Path(phrases.__file__).parent / "texts").glob("*.json"))
PACKAGE = Path(gateway_memory.__file__).parent


def pairs(value: Any, place: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the texts of a file that people read in both languages, each with its place."""
    if isinstance(value, str):  # of a file in one language
        return []
    if "en" in value or "zh" in value:
        return [(place, value)]
    return [each for name, below in value.items() for each in pairs(below, f"{place}.{name}")]


@pytest.mark.parametrize("file", FILES)
def test_no_name_stands_twice(file: str) -> None:
    def once(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in entries]
        assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
        return dict(entries)

    path = Path(phrases.__file__).parent / "texts" / f"{file}.json"
    json.loads(path.read_text("utf-8"), object_pairs_hook=once)


def forms(text: Any) -> list[str]:
    """Return the text, or its forms by number."""
    if isinstance(text, str):
        return [text]
    assert text.keys() == {"one", "other"}
    return list(text.values())


def placeholders(text: Any) -> set[str]:
    return {name for form in forms(text) for _, name, _, _ in Formatter().parse(form) if name}


@pytest.mark.parametrize("file", FILES)
def test_each_text_is_in_both_languages_with_the_same_placeholders(file: str) -> None:
    for place, text in pairs(texts(file), file):
        assert text.keys() == {"en", "zh"}, place
        assert all(form.strip() for each in text.values() for form in forms(each)), place
        if file in ("phrases", "page"):
            assert placeholders(text["en"]) == placeholders(text["zh"]), place


def test_each_form_of_an_error_has_one_in_chinese_with_the_same_placeholders() -> None:
    for english, chinese in texts("errors").items():
        assert placeholders(english) == placeholders(chinese), english
        assert re.search("[一-鿿，：；、“]", chinese), english


PARSER = {
    *(
        "unclosed",
        "extra",
        "data",
        "JSON",
        "found",
        "maximum",
        "nesting",
        "level",
        "exceeded",
        "hexadecimal",
        "character",
    ),
    *("object", "array", "string", "comment", "Errno", "host", "accepting", "connections", "refused", "Connection"),
    *("resolve", "Name", "service", "FATAL", "password", "authentication", "database", "role", "exist", "entry"),
    *("encryption", "sorry", "clients", "socket", "running", "locally", "timeout", "expired", "hba", "conf"),
}
"""What pyjson5, Python and libpq say, which have no source here; `test_config.py` has the mistakes of a config."""


@pytest.mark.lengthy
def test_each_error_that_is_translated_is_said_somewhere() -> None:
    """A form whose text has changed in the code would leave the error English."""
    ours = (
        path for name in ("gateway_memory", "extractor", "recall", "notifier") for path in folder(name).rglob("*.py")
    )
    said = "\n".join(
        node.value
        for path in (*ours, Path(argparse.__file__), Path(json.decoder.__file__))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    said += "\n".join(map(os.strerror, errno.errorcode))
    # Code may put a text together: each word of a form is said, whatever it stands beside.
    words = set(re.findall(r"[A-Za-z]{4,}", said)) | PARSER
    for english in texts("errors"):
        plain = " ".join(text for text, *_ in Formatter().parse(english))
        assert [word for word in re.findall(r"[A-Za-z]{4,}", plain) if word not in words] == [], english


def folder(package: str) -> Path:
    return Path(str(import_module(package).__file__)).parent


def constants(node: ast.expr) -> list[object]:
    """Return the constants that an expression may be."""
    if isinstance(node, ast.IfExp):
        return [*constants(node.body), *constants(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) else []


def called_with(names: set[str], pattern: str = "**/*.py") -> set[str]:
    """Return the names of texts with which functions of these names are called."""
    found: set[object] = set()
    for path in PACKAGE.glob(pattern):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in names:
                    found.update(each for argument in node.args[:2] for each in constants(argument))
    return {each for each in found if isinstance(each, str) and each.isidentifier()} - {"en", "zh"}


@pytest.mark.lengthy
def test_each_phrase_that_is_said_exists() -> None:
    said = called_with({"say", "phrase"})
    assert len(said) > 100
    assert {each for each in said if each not in texts("phrases")} == set()


def test_each_word_of_the_page_exists() -> None:
    templates = PACKAGE / "serving/page/templates"
    shown = {
        name
        for path in templates.glob("*.html")
        for name in re.findall(r'\bword\("(\w+)"[,)]', path.read_text("utf-8"))
    }
    assert len(shown) > 100
    assert {each for each in shown | called_with({"word"}) if each not in texts("page")} == set()


def test_each_word_of_the_page_is_used() -> None:
    page = PACKAGE / "serving/page"
    sources = [path.read_text("utf-8") for path in (*page.glob("*.py"), *page.glob("templates/*.html"))]
    named = {name for text in sources for name in re.findall(r"[\"'](\w+)[\"']", text)} | {
        view.__name__ for view in VIEWS.values()
    }
    begun = {begin for text in sources for begin in re.findall(r"[\"'](\w+_)[\"'{]", text)}
    begun |= {f"{kind}_" for kind in re.findall(r'chart\(viewer, [\w.]+, "(\w+)"', "".join(sources))}
    unused = {name for name in texts("page") if name not in named and not name.startswith(tuple(begun))}
    assert unused == set()


def test_each_symbol_of_the_page_is_in_the_sprite() -> None:
    page = PACKAGE / "serving/page"
    sprite = set(re.findall(r'<symbol id="icon-([\w-]+)"', (page / "templates/icons.svg").read_text("utf-8")))
    sources = "".join(path.read_text("utf-8") for path in page.glob("templates/*.html"))
    named = set(re.findall(r'icon\("([\w-]+)"\)', sources)) | set(TABS.values())
    given = set(re.findall(r'(?:button|correction|decision)\([^()]*?"([a-z]+-[\w-]+|pin|x|check)"', sources))
    assert len(named) > 10
    assert named | given <= sprite


MESSAGES = {
    "doctor": ("cli/broker_check.py", "cli/model_check.py", "cli/journal_check.py", "cli/listen.py"),
    "hooks": ("hooks/install.py",),
    "connect": ("connect/gateways.py", "connect/openclaw.py"),
    "migration": ("cli/moving.py",),
}


@pytest.mark.parametrize(("file", "modules"), MESSAGES.items())
def test_each_message_of_the_shell_exists(file: str, modules: tuple[str, ...]) -> None:
    names = {"_text", "finding", "tell_good", "tell_bad", "advice"}
    printed = {each for module in modules for each in called_with(names, module)}
    assert len(printed) > 4
    assert {each for each in printed if each not in texts(file)} == set()


def test_each_code_of_a_receipt_has_a_chinese_name() -> None:
    """The codes are those of the types, and of the tables in docs/commands.md."""
    types = (Cause, State, Reason, DistillReason, Doubt)
    page = (PACKAGE.parent / "docs" / "commands.md").read_text("utf-8")
    table = page.partition("### What a receipt says")[2].partition("The reason `model`")[0]
    codes = {code for each in types for code in get_args(each) if code} | set(re.findall(r"`([a-z_]+)`", table))
    assert len(codes) > 60
    named = {code: coded("zh", code) for code in codes - {"read"}}  # a command
    assert [code for code, name in named.items() if not re.search("[一-鿿]", name)] == []
