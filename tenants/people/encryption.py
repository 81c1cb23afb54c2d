"""Encryption of tenants' secrets that Toolgate must read again: never their passwords or API keys.

The first of the operator's keys encrypts, all of them decrypt. Whoever keeps what `encrypt` made in a column registers
it (`tenants.people.rotation`), so that `manage.py rotate-encryption-key` finds it.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

_HEX = re.compile(r"[0-9A-Fa-f]{64}")
_BASE64 = re.compile(r"[A-Za-z0-9_-]{43}=?")


class WrongKey(ValueError):
    """A key is not 32 bytes in one of the known forms; the message does not hold it."""


class Undecipherable(Exception):
    """None of the operator's keys decrypts this."""


def check_keys(keys: Sequence[str]) -> None:
    """Raises WrongKey unless there is a key and each is 32 bytes, as hexadecimal or URL-safe base64."""
    _fernet(tuple(keys))


def encrypt(text: str) -> str:
    """The text under the first key, as ASCII, with the time in the clear."""
    return _fernet(tuple(settings.TOOLGATE_ENCRYPTION_KEYS)).encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """The text that `encrypt` was given. Raises Undecipherable."""
    try:
        return _fernet(tuple(settings.TOOLGATE_ENCRYPTION_KEYS)).decrypt(token.encode()).decode()
    except InvalidToken:
        raise Undecipherable("It was encrypted with a key that is not among TOOLGATE_ENCRYPTION_KEYS.") from None


def is_readable(token: str) -> bool:
    """Whether one of the keys decrypts it."""
    try:
        decrypt(token)
    except Undecipherable:
        return False
    return True


def is_current(token: str) -> bool:
    """Whether the first key does."""
    try:
        _fernet(tuple(settings.TOOLGATE_ENCRYPTION_KEYS[:1])).decrypt(token.encode())
    except InvalidToken:
        return False
    return True


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    if not keys:
        raise WrongKey("there is no key")
    return MultiFernet([Fernet(base64.urlsafe_b64encode(_bytes(number, key))) for number, key in enumerate(keys, 1)])


def _bytes(number: int, key: str) -> bytes:
    if _HEX.fullmatch(key):
        return binascii.unhexlify(key)
    if _BASE64.fullmatch(key):
        return base64.urlsafe_b64decode(key.rstrip("=") + "=")
    raise WrongKey(f"key {number} is not 32 bytes as 64 hexadecimal digits or as URL-safe base64")
