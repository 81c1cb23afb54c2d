"""The database logins that Toolgate derives, and the secrets that it generates, in the data directory."""

import fcntl
import json
import os
import secrets
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from tenants.scope import private_files

NAMES = ("system_password", "operator_password", "secret_key", "encryption_key")


class LostSecrets(Exception):
    """The file of the generated secrets cannot be read; the message is one line that says what to do."""


def generated_secrets(data_dir: Path) -> dict[str, str]:
    """The secrets made at the first start, 256 random bits each; a new name's is added, and none ever changes.

    Raises LostSecrets.
    """
    known = _read(data_dir / "generated.json")
    if not known.keys() >= set(NAMES):
        known = _write(data_dir, {})
    return known


def check_secrets(data_dir: Path) -> None:
    """Raises LostSecrets when the generated secrets are there and cannot be read."""
    _read(data_dir / "generated.json")


def replace_secrets(data_dir: Path, secrets_of_a_backup: dict[str, str]) -> None:
    """Replace the generated secrets by those of a backup; for a restore only."""
    if secrets_of_a_backup:
        _write(data_dir, secrets_of_a_backup)


def _write(data_dir: Path, given: dict[str, str]) -> dict[str, str]:
    path = data_dir / "generated.json"
    data_dir.mkdir(parents=True, exist_ok=True)
    held = os.open(data_dir, os.O_RDONLY)
    try:
        # The first process writes; all others wait here, and read.
        fcntl.flock(held, fcntl.LOCK_EX)
        known = {name: secrets.token_urlsafe(32) for name in NAMES} | _read(path) | given
        with private_files.replacing(path) as file:
            file.write(json.dumps(known).encode())
    finally:
        os.close(held)
    return known


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_bytes())
    except ValueError:
        known = None
    if not isinstance(known, dict) or not all(isinstance(value, str) and value for value in known.values()):
        raise LostSecrets(
            f"{path} is damaged: bring it back from a backup. Without one, move it away: Toolgate makes new keys and "
            "passwords, and what the database has encrypted with the old ones is lost"
        )
    return known


def derived_urls(urls: dict[str, str], data_dir: Path) -> dict[str, str]:
    """`urls` with the system and operator logins filled in, with derived names and generated passwords."""
    parts = urlsplit(urls["default"])
    known = generated_secrets(data_dir)
    address = parts.netloc.rpartition("@")[2]
    filled = dict(urls)
    for alias in ("system", "operator"):
        if not filled.get(alias):
            login = quote(f"{parts.username}_as_{alias}", safe="")
            filled[alias] = urlunsplit(
                parts._replace(netloc=f"{login}:{quote(known[alias + '_password'], safe='')}@{address}")
            )
    return filled
