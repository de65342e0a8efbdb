"""Codes that join two identities of one person: short enough to be typed, and never stored as they are."""

import hashlib
import secrets
from typing import Final

CODE_SECONDS: Final = 600.0
"""How long a code is valid."""
TRIES: Final = 5
TRIES_SECONDS: Final = 3600.0
"""An identity may type so many wrong codes within this time."""
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH: Final = 10
_READ_AS: Final = str.maketrans("OIL", "011", "- ")


def new_code() -> str:
    """Return a new code of fifty random bits, in two groups."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return f"{letters[: _LENGTH // 2]}-{letters[_LENGTH // 2 :]}"


def digest_of(code: str, journal: str) -> str:
    """Return what is stored of a code as a person types it. journal: the id of the journal that stores it."""
    plain = code.upper().translate(_READ_AS)
    return hashlib.scrypt(plain.encode("utf-8", "replace"), salt=journal.encode(), n=1024, r=8, p=1, dklen=32).hex()
