"""Finds secrets that a check proves: card, identity and bank numbers, and the words of a wallet's mnemonic."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from extractor.tables.reader import table

__all__ = ["checked"]

# People separate the groups of a number by blanks, dots, or dashes of any length, also two of them.
_PARTED: Final = r"[ \t.\-\u2010-\u2015_/·•*,|\u00a0\u2000-\u200a\u202f\u3000]{0,4}"
_CARD: Final = re.compile(
    rf"(?!2[0189])[2-6](?<!\d[2-6])(?:\d{{3}}{_PARTED}\d{{4}}{_PARTED}\d{{4}}{_PARTED}\d{{4}}(?:{_PARTED}\d{{1,3}})?"
    rf"|\d{{3}}{_PARTED}\d{{6}}{_PARTED}\d{{4,5}}"
    rf"|\d{{5}}{_PARTED}\d{{10}}|(?<![2])\d{{3}}(?:\n\d{{4}}){{3}}|\d{{12}})(?!\d)"
)
# Next to its name a number may have separators anywhere, also line breaks.
_NAMED_CARD: Final = re.compile(
    r"(?i)(?:\b(?:card|visa|mastercard|amex|unionpay|maestro|jcb)|卡|支付|付款)[^\d]{0,40}"
    r"(?<!\d)(?P<value>[2-6](?:[\s.\-_/·•*,|\u2010-\u2015]{0,4}\d){12,18})(?!\d)"
)
_IDENTITY: Final = re.compile(
    r"[1-9](?<![\dA-Za-z]\d)\d{5}[ \t.\-\u00a0\u3000]{0,3}(?:18|19|20)\d\d[ .-]?(?:0[1-9]|1[0-2])[ .-]?"
    r"(?:0[1-9]|[12]\d|3[01])[ \t.\-\u00a0\u3000]{0,3}\d{3}[\dXx](?![\dA-Za-z])"
)
_IBAN: Final = re.compile(r"(?<![A-Za-z\d])[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]{4}){2,7}(?:[ -]?[A-Z\d]{1,3})?(?![A-Za-z\d])")
_DIGITS: Final = re.compile(r"\d(?:[^\da-zA-Z]{0,4}\d){11}")
_WORDS: Final = re.compile(
    r"(?i)(?<![a-z])[a-z]{3,8}(?:[\s,，、.]{1,4}(?:\d{1,2}[.):]?\s{0,2})?[a-z]{3,8}(?![a-z])){11,}+"
)
_WORD: Final = re.compile(r"[A-Za-z]+")
_FEWEST_WORDS: Final = 12
_FEWEST_DIGITS: Final = 13
_IDENTITY_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_OWNED: Final = table("secrets").patterns(flags=0)
_BEFORE: Final = 24


def checked(text: str) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the spans of each kind; within one kind they are ascending and do not overlap."""
    yield list(_mnemonics(text))
    yield list(_valid(text, _IBAN, _iban_in, "account number"))
    if _DIGITS.search(text):
        yield list(_valid(text, _IDENTITY, _identity_in, "identity number"))
        yield list(_valid(text, _NAMED_CARD, _card_in, "card number", owned=False))
        yield list(_valid(text, _CARD, _card_in, "card number"))


def _valid(
    text: str, pattern: re.Pattern[str], length_of: Callable[[str], int], kind: str, *, owned: bool = True
) -> Iterator[tuple[int, int, str]]:
    """Yield the matches that are valid numbers, and that no other noun owns ("order number …").

    length_of: returns how many characters of a match are the number, 0 for none.
    """
    for match in pattern.finditer(text):
        start = match.start(pattern.groups)
        length = length_of(match[pattern.groups])
        if length and not (owned and _OWNED["owner"].search(text[max(0, start - _BEFORE) : start].lower())):
            yield start, start + length, f"[masked: {kind}]"


def _card_in(number: str) -> int:
    """Return the length of the card number at the start; its security code or expiry month may follow."""
    ends = [at + 1 for at, character in enumerate(number) if character.isdecimal()]
    for count in range(len(ends), _FEWEST_DIGITS - 1, -1):
        if (count == len(ends) or ends[count] - ends[count - 1] > 1) and passes_luhn(number[: ends[count - 1]]):
            return ends[count - 1]
    return 0


def passes_luhn(number: str) -> bool:
    """ISO/IEC 7812-1 annex B."""
    digits = [int(character) for character in number if character.isdecimal()]
    doubled = (sum(divmod(digit * 2, 10)) for digit in digits[-2::-2])
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _identity_in(text: str) -> int:
    """GB 11643-1999: ISO 7064 MOD 11-2 over the first 17 digits."""
    number = "".join(character for character in text if character.isalnum())
    total = sum(int(digit) * weight for digit, weight in zip(number, _IDENTITY_WEIGHTS, strict=False))
    return len(text) if "10X98765432"[total % 11] == number[-1].upper() else 0


def _iban_in(text: str) -> int:
    """ISO 13616-1: MOD 97-10 over the number with its first four characters moved to the end."""
    for length in range(len(text), 14, -1):
        if text[length - 1].isalnum() and (length == len(text) or not text[length].isalnum()):
            number = "".join(character for character in text[:length] if character.isalnum())
            if int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1:
                return length
    return 0


@cache
def _mnemonic_words() -> frozenset[str]:
    lines = Path(__file__).with_name("bip39_english.txt").read_text("ascii").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _mnemonics(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of twelve or more words of BIP-39's English list in a row."""
    for match in _WORDS.finditer(text):
        run: list[tuple[int, int]] = []
        for start, end in [*(word.span() for word in _WORD.finditer(text, *match.span())), (0, 0)]:
            if text[start:end].lower() in _mnemonic_words():
                run.append((start, end))
                continue
            if len(run) >= _FEWEST_WORDS:
                yield run[0][0], run[-1][1], "[masked: recovery phrase]"
            run = []
