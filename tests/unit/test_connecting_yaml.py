"""A block of a YAML config is set by lines, and the file comes back byte for byte."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.connect.yaml_block import Block
from gateway_memory.errors import UsageError

VALUES = {"provider": "gateway-memory", "memory_enabled": "false", "user_profile_enabled": "false"}
OTHERS = """\
# Hermes
model:
  default: "stub"   # mine
  memory: 5
terminal:
  cwd: /tmp
"""
FORMS = {
    "absent": OTHERS,
    "empty file": "",
    "no last newline": OTHERS.rstrip("\n"),
    "without ours": f"memory:   # notes\n    char_limit: 2200\n\n    # more\n    nudge: 10\n{OTHERS}",
    "with ours": f"{OTHERS}memory:\n  provider: 'mem0'  # since May\n  memory_enabled: true\nagent:\n  provider: x\n",
    "empty block": f"memory:\n{OTHERS}",
    "windows": OTHERS.replace("\n", "\r\n"),
    "nested": f"memory:\n  provider: mem0\n  flush:\n    provider: x\n    turns: 6\n{OTHERS}",
}


def block(folder: Path) -> Block:
    return Block(path=folder / "config.yaml", name="memory", values=VALUES)


def set_in(text: str) -> dict[str, str]:
    """Return the direct values of the block `memory`, read in the simplest way."""
    lines = text.splitlines()
    inside = lines[lines.index(next(line for line in lines if line.startswith("memory:"))) + 1 :]
    found: dict[str, str] = {}
    width = 0
    for line in inside:
        if not line.strip() or line.strip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if not indent:
            break
        width = width or indent
        if indent == width:
            key, _, value = line.strip().partition(":")
            assert key not in found or key not in VALUES
            found[key] = value.partition(" #")[0].strip()
    return found


@pytest.mark.parametrize("name", list(FORMS))
def test_it_is_set_and_comes_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    config = block(tmp_path)
    before = FORMS[name].encode()
    config.path.write_bytes(before)
    config.path.chmod(0o640)
    assert len(config.shown()) == 3
    assert config.path.read_bytes() == before, "it was only shown"
    config.connect()
    after = config.path.read_bytes()
    assert VALUES.items() <= set_in(after.decode()).items()
    for line in FORMS[name].splitlines():
        assert line in after.decode() or line.strip().partition(":")[0] in VALUES
    config.connect()
    assert (config.path.read_bytes(), config.shown()) == (after, [])
    assert config.disconnect()
    assert config.path.read_bytes() == before
    assert config.path.stat().st_mode & 0o777 == 0o640
    assert not config.disconnect()
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_a_file_that_was_not_there_goes_again(tmp_path: Path) -> None:
    config = block(tmp_path)
    config.connect()
    assert set_in(config.path.read_text()) == VALUES
    assert config.disconnect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", list(FORMS))
def test_of_a_file_that_was_edited_since_only_our_lines_go(name: str, tmp_path: Path) -> None:
    config = block(tmp_path)
    config.path.write_bytes(FORMS[name].encode())
    config.connect()
    edited = config.path.read_text() + "added: by somebody\n"
    config.path.write_text(edited.replace("user_profile_enabled: false", "user_profile_enabled: true"))
    assert config.disconnect()
    left = config.path.read_text()
    assert "added: by somebody" in left
    assert "gateway-memory" not in left
    assert "user_profile_enabled: true" in left, "that is somebody's own now"
    for line in FORMS[name].splitlines():
        assert line in left


@pytest.mark.parametrize(
    "text",
    [
        "memory: {provider: mem0}\n",
        "memory: &mine\n  provider: mem0\n",
        "memory:\n\tprovider: mem0\n",
        "memory:\n  provider: mem0\nmemory:\n  provider: other\n",
        "memory:\n  provider:\n    name: mem0\n",
        "memory:\n  provider: |\n    mem0\n",
        "memory:\n  provider: *mine\n",
        "{memory: 1}\n",
        "a: 1\n---\nb: 2\n",
        b"\xff\xfe",
    ],
)
def test_other_forms_are_refused_and_nothing_is_changed(text: str | bytes, tmp_path: Path) -> None:
    config = block(tmp_path)
    before = text if isinstance(text, bytes) else text.encode()
    config.path.write_bytes(before)
    with pytest.raises(UsageError, match=r"config\.yaml"):
        config.connect()
    assert config.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


LINES = st.lists(
    st.sampled_from(
        [
            "memory:",
            "  provider: a",
            "  memory_enabled: true # yes",
            "    deep: 1",
            "  other: 2",
            "# note",
            "",
            "x: 1",
            "y:",
        ]
    ),
    max_size=12,
)


@given(LINES, st.booleans())
@pytest.mark.lengthy
def test_whatever_the_file_holds_it_comes_back_or_is_not_touched(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    ends: bool,  # noqa: FBT001 - drawn
) -> None:
    config = block(tmp_path_factory.mktemp("config"))
    before = ("\n".join(lines) + ("\n" if ends else "")).encode()
    config.path.write_bytes(before)
    try:
        config.connect()
    except UsageError:
        assert config.path.read_bytes() == before
        return
    assert VALUES.items() <= set_in(config.path.read_text()).items()
    assert config.disconnect() or before == config.path.read_bytes()
    assert config.path.read_bytes() == before
