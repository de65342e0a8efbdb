"""Secrets that a check proves: card, identity and bank numbers, logins, keys, the words of a wallet."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from extractor.cleaning.columns import PATTERNS, TABLE

_NUMBERS: Final = TABLE.patterns("numbers", flags=0)
_WORD: Final = re.compile(r"[A-Za-z]+")
_FEWEST_WORDS: Final = 12
_FEWEST_DIGITS_OF_A_CARD: Final = 13
_IDENTITY_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_BEFORE_A_NUMBER: Final = 24


def checked(text: str) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the spans of each kind; within one kind they are ascending and do not overlap."""
    yield list(_mnemonics(text))
    yield list(_valid(text, _NUMBERS["base 58"], _base58_in, "private key"))
    yield list(_valid(text, _NUMBERS["basic"], _login_in, "password", owned=False))
    yield list(_valid(text, _NUMBERS["iban"], _iban_in, "account number"))
    if _NUMBERS["digits"].search(text):
        yield list(_valid(text, _NUMBERS["eight groups"], _bitlocker_in, "key"))
        yield list(_valid(text, _NUMBERS["identity"], _identity_in, "identity number"))
        yield list(_valid(text, _NUMBERS["named card"], _card_in, "card number", owned=False))
        yield list(_valid(text, _NUMBERS["card"], _card_in, "card number"))


def _valid(
    text: str, pattern: re.Pattern[str], length_of: Callable[[str], int], kind: str, *, owned: bool = True
) -> Iterator[tuple[int, int, str]]:
    """Yield the matches that are valid numbers, and that no other noun owns ("order number …").

    length_of: returns how many characters of a match are the number, 0 for none.
    """
    for match in pattern.finditer(text):
        start = match.start(pattern.groups)
        length = length_of(match[pattern.groups])
        if length and not (owned and PATTERNS["owner"].search(text[max(0, start - _BEFORE_A_NUMBER) : start].lower())):
            yield start, start + length, f"[masked: {kind}]"


def _card_in(number: str) -> int:
    """Return the length of the card number at the start; its security code or expiry month may follow."""
    ends = [at + 1 for at, character in enumerate(number) if character.isdecimal()]
    for count in range(len(ends), _FEWEST_DIGITS_OF_A_CARD - 1, -1):
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


_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _base58_in(key: str) -> int:
    """Base58Check: the last four bytes are the begin of the double SHA-256 of the others."""
    number = 0
    for character in key:
        number = number * len(_BASE58) + _BASE58.index(character)
    data = number.to_bytes((number.bit_length() + 7) // 8)
    return len(key) if sha256(sha256(data[:-4]).digest()).digest()[:4] == data[-4:] else 0


def _bitlocker_in(key: str) -> int:
    """Each group of a BitLocker recovery key is a multiple of 11."""
    return len(key) if not any(int(group) % 11 for group in re.split("[ -]", key)) else 0


def _login_in(encoded: str) -> int:
    """RFC 7617: a name, a colon and a password in base 64."""
    try:
        login = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8")
    except ValueError:
        return 0
    return len(encoded) if ":" in login and login.isprintable() else 0


@cache
def _mnemonic_words() -> frozenset[str]:
    lines = Path(__file__).with_name("bip39_english.txt").read_text("ascii").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _mnemonics(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of twelve or more words of BIP-39's English list in a row."""
    for match in _NUMBERS["words of a mnemonic"].finditer(text):
        run: list[tuple[int, int]] = []
        for start, end in [*(word.span() for word in _WORD.finditer(text, *match.span())), (0, 0)]:
            if text[start:end].lower() in _mnemonic_words():
                run.append((start, end))
                continue
            if len(run) >= _FEWEST_WORDS:
                yield run[0][0], run[-1][1], "[masked: recovery phrase]"
            run = []
