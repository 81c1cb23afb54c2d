"""The file: a tar of `manifest.json` first, then the files that it lists with their lengths and SHA-256."""

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gateway.operations.backup.errors import BackupRefused

FORMAT = 1
MANIFEST, DUMP, KEYS, LEDGER_KEY = "manifest.json", "database.dump", "keys.json", "ledger.key"
LARGEST_MANIFEST = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """What is in a backup. `log_key` is the vkey that its log is signed with, `encryption_keys` are SHA-256 of keys."""

    format: int
    made_at: str
    server_major: int
    dump_major: int
    migrations: dict[str, str]
    log_key: str | None
    log_size: int
    encryption_keys: list[str]
    with_keys: bool
    files: dict[str, dict[str, Any]]


def digest(path: Path) -> dict[str, Any]:
    """A file's length and SHA-256, as the manifest has them."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def write(target: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write the archive in one step, readable by its owner only; raises BackupRefused when `target` is there."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                text = json.dumps(asdict(manifest), indent=1).encode()
                tar.addfile(_member(MANIFEST, len(text)), io.BytesIO(text))
                for name, path in files.items():
                    with path.open("rb") as content:
                        tar.addfile(_member(name, path.stat().st_size), content)
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link takes no other file's place.
        os.link(draft, target)
    except FileExistsError:
        raise BackupRefused(f"{target} is there already: name another file") from None
    finally:
        draft.unlink()


def _member(name: str, length: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = length, 0o600
    return member


def manifest_of(source: Path) -> Manifest:
    """What a backup says of itself; raises BackupRefused when it is none, or of a later format."""
    try:
        with tarfile.open(source) as tar:
            first = tar.next()
            if first is None or first.name != MANIFEST or first.size > LARGEST_MANIFEST:
                raise ValueError
            content = tar.extractfile(first)
            assert content is not None
            known = json.loads(content.read())
        if known["format"] != FORMAT:
            raise BackupRefused(f"{source} is of format {known['format']}, which this release does not know")
        return Manifest(**known)
    except OSError as error:
        raise BackupRefused(f"{source} cannot be read: {error.strerror or error}") from None
    except (tarfile.TarError, ValueError, KeyError, TypeError):
        raise BackupRefused(f"{source} is not a backup that `manage.py backup` made") from None


def extract(source: Path, manifest: Manifest, directory: Path) -> dict[str, Path]:
    """The files of a backup, put into an empty private directory; raises BackupRefused when one is not as listed."""
    found: dict[str, Path] = {}
    with tarfile.open(source) as tar:
        try:
            for member in tar:
                if member.name not in manifest.files or not member.isfile() or "/" in member.name:
                    continue
                tar.extract(member, directory, filter="data")
                found[member.name] = directory / member.name
        except (tarfile.TarError, OSError) as error:
            raise BackupRefused(f"{source} is damaged: {error}") from None
    wrong = [name for name, expected in manifest.files.items() if name not in found or digest(found[name]) != expected]
    if wrong:
        raise BackupRefused(f"{source} is damaged: {', '.join(wrong)} is not what was backed up")
    return found


def key_lines(source: Path) -> list[str]:
    """The keys in a backup as lines of `.env`; raises BackupRefused when it has none."""
    manifest = manifest_of(source)
    if not manifest.with_keys:
        raise BackupRefused(f"{source} was made --without-keys")
    with tempfile.TemporaryDirectory(prefix=".toolgate-keys-") as place:
        files = extract(source, manifest, Path(place))
        known = json.loads(files[KEYS].read_bytes())
        lines = [f"SECRET_KEY={known['SECRET_KEY']}"]
        lines.append(f"TOOLGATE_ENCRYPTION_KEYS={','.join(known['TOOLGATE_ENCRYPTION_KEYS'])}")
        if LEDGER_KEY in files:
            lines.append(f"TOOLGATE_LEDGER_KEY={files[LEDGER_KEY].read_text().strip()}")
    return lines
