"""The key that signs checkpoints: where it is stored, and how it is made.

It comes from TOOLGATE_LEDGER_KEY, else from `ledger.key` in the data directory, which the first sealing makes. Only
what seals, and the commands that change the key, ask for it. Beside it `ledger.pub` lists the public keys that have
signed here, oldest first: the database's owner cannot add one.
"""

import os
import secrets
from pathlib import Path

from django.conf import settings

from audit.log.errors import WrongSigningKey
from audit.log.notes import BadKey, Signer, Verifier

# What the note that endorses a new key begins with, so that it can never be taken for a checkpoint.
ENDORSEMENT = "toolgate key rotation"


def new_origin() -> str:
    """The name of a new log, and of its keys."""
    return f"toolgate/{secrets.token_hex(4)}"


def is_given() -> bool:
    """Whether the operator provides the key, in TOOLGATE_LEDGER_KEY, instead of Toolgate's data directory."""
    return bool(settings.TOOLGATE_LEDGER_KEY())


def signer(registered: str | None) -> Signer:
    """The private key of the vkey that the database names as the newest, or a first one; raises WrongSigningKey."""
    if given := settings.TOOLGATE_LEDGER_KEY():
        found = _read(given, "TOOLGATE_LEDGER_KEY")
    else:
        _finish_rotation(registered)
        path = private_path()
        if not path.exists():
            if registered is not None:
                raise WrongSigningKey(f"{path} is missing, and the log is signed with {registered}")
            _make_once(path)
        found = _read(path.read_text(), str(path))
    vkey = found.verifier.to_text()
    if registered not in (None, vkey):
        raise WrongSigningKey(f"the key here is {vkey}, and the log is signed with {registered}")
    return found


def known(own: Signer) -> list[Verifier]:
    """The public keys that have signed here; `own` is added to them when it is new."""
    path = public_path()
    lines = path.read_text().split() if path.exists() else []
    if own.verifier.to_text() not in lines:
        publish(own.verifier)
        lines.append(own.verifier.to_text())
    try:
        return [Verifier.from_text(line) for line in lines]
    except BadKey as error:
        raise WrongSigningKey(f"{path} has a line that is no key: {error}") from None


def publish(verifier: Verifier) -> None:
    """Add a public key to `ledger.pub`."""
    path = public_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"{verifier.to_text()}\n")
        file.flush()
        os.fsync(file.fileno())


def prepare(key: Signer) -> None:
    """Store a new key beside the one in use; it replaces that once the database names it as the newest."""
    path = next_path()
    path.unlink(missing_ok=True)
    _write(path, key)


def _finish_rotation(registered: str | None) -> None:
    """Use the key that the database names, also when the process that stored it there was stopped right then."""
    path = next_path()
    if path.exists() and _read(path.read_text(), str(path)).verifier.to_text() == registered:
        os.replace(path, private_path())


def _make_once(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    _write(draft, Signer.generate(new_origin()))
    try:
        # Of two processes at once, the first one's key stays.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _write(path: Path, key: Signer) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{key.to_text()}\n")
        file.flush()
        os.fsync(file.fileno())


def _read(text: str, source: str) -> Signer:
    try:
        return Signer.from_text(text.strip())
    except BadKey as error:
        raise WrongSigningKey(f"{source} is no signing key: {error}") from None


def private_path() -> Path:
    """Where the private key is when the operator does not provide it."""
    return Path(settings.TOOLGATE_DATA_DIR) / "ledger.key"


def next_path() -> Path:
    """Where the next private key is, while the key is being changed."""
    return Path(settings.TOOLGATE_DATA_DIR) / "ledger.key.next"


def public_path() -> Path:
    """Where the public keys are listed."""
    return Path(settings.TOOLGATE_DATA_DIR) / "ledger.pub"
