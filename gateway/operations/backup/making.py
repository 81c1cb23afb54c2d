"""Makes a backup of a running Toolgate.

Database, keys and checkpoint file are of one moment: sealing is held up while the snapshot is taken and the files are
copied, so every head in the file is one that the dump has too, and the key is the one that signed the last. The dump
itself, which may take long, is then made of that snapshot while everything goes on.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from psycopg.rows import dict_row

from audit.log import checkpoints, keys, sealing
from audit.log.errors import WrongSigningKey
from gateway.operations.backup import archive, programs
from gateway.operations.backup.errors import BackupRefused

LEDGER_PUB, CHECKPOINTS, DEMO = "ledger.pub", "checkpoints.jsonl", "demo-secrets.json"
_MIGRATIONS = "SELECT app, max(name) AS name FROM django_migrations GROUP BY app"
Row = dict[str, Any]


def make(target: Path, *, with_keys: bool) -> archive.Manifest:
    """Write a backup to `target`, which must not exist; raises BackupRefused, and then leaves nothing."""
    url = settings.DATABASE_URLS.get("owner", "")
    if not url:
        raise BackupRefused("DATABASE_OWNER_URL is not set: a backup needs the owner's login, which sees every row")
    if target.exists():
        raise BackupRefused(f"{target} is there already: name another file")
    if not target.parent.is_dir():
        raise BackupRefused(f"{target.parent} is no directory")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".toolgate-backup-") as place:
            return _make(target, Path(place), url, with_keys)
    except psycopg.Error as error:
        raise BackupRefused(f"PostgreSQL refused: {str(error).strip().splitlines()[0]}") from error
    except OSError as error:
        raise BackupRefused(f"{error.filename or target} cannot be written or read: {error.strerror}") from error


def _make(target: Path, place: Path, url: str, with_keys: bool) -> archive.Manifest:
    files: dict[str, Path] = {}
    with psycopg.connect(url, row_factory=dict_row) as connection:
        major = connection.info.server_version // 10_000
        dump = programs.find("pg_dump", major, f"the server, which is PostgreSQL {major}")
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.commit()
        with _sealing_held_up(url):
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            snapshot = _one(connection, "SELECT pg_export_snapshot() AS id")["id"]
            newest = connection.execute(sealing.NEWEST_KEY).fetchone()
            size = _one(connection, sealing.LARGEST)["size"]
            files |= _log_files(place, newest["vkey"] if newest else None, size, with_keys)
        migrations = {row["app"]: row["name"] for row in connection.execute(_MIGRATIONS).fetchall()}
        made_at = datetime.now(UTC).isoformat()
        path = place / archive.DUMP
        programs.run(dump, url, ["--format=custom", f"--snapshot={snapshot}", "--no-sync", f"--file={path}"])
    if with_keys:
        files |= _keys(place)
    files = {archive.DUMP: path, **files}
    manifest = archive.Manifest(
        format=archive.FORMAT,
        made_at=made_at,
        server_major=major,
        dump_major=dump.major,
        migrations=migrations,
        log_key=newest["vkey"] if newest else None,
        log_size=size,
        encryption_keys=key_digests(settings.TOOLGATE_ENCRYPTION_KEYS),
        with_keys=with_keys,
        files={name: archive.digest(each) for name, each in files.items()},
    )
    archive.write(target, manifest, files)
    return manifest


def key_digests(encryption_keys: list[str]) -> list[str]:
    """What names keys without holding them: each is 256 random bits."""
    return [hashlib.sha256(key.encode()).hexdigest() for key in encryption_keys]


@contextmanager
def _sealing_held_up(url: str) -> Iterator[None]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '60s'")
        connection.execute("SELECT pg_advisory_lock(%s)", [sealing.LOCK])
        yield


def _one(connection: psycopg.Connection[Row], query: str) -> Row:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row


def _log_files(place: Path, registered: str | None, size: int, with_keys: bool) -> dict[str, Path]:
    """Copies of the heads and of what signs them; raises BackupRefused where they are not in this data directory."""
    files = {}
    if size and not checkpoints.path().exists():
        raise BackupRefused(_elsewhere(checkpoints.path()))
    aside = checkpoints.path().parent.glob(f"{checkpoints.path().stem}-*{checkpoints.path().suffix}")
    wanted = {CHECKPOINTS: checkpoints.path(), LEDGER_PUB: keys.public_path()} | {each.name: each for each in aside}
    for name, source in wanted.items():
        if source.exists():
            files[name] = Path(shutil.copyfile(source, place / name))
    if registered is not None and with_keys:
        if not keys.is_given() and not keys.private_path().exists():
            raise BackupRefused(_elsewhere(keys.private_path()))
        try:
            key = keys.signer(registered)
        except WrongSigningKey as wrong:
            raise BackupRefused(f"{wrong}; run it where the worker's data directory is") from None
        files[archive.LEDGER_KEY] = place / archive.LEDGER_KEY
        files[archive.LEDGER_KEY].write_text(f"{key.to_text()}\n")
    return files


def _elsewhere(path: Path) -> str:
    return f"{path} is missing: run it where the worker's data directory is, and with the worker's settings"


def _keys(place: Path) -> dict[str, Path]:
    path = place / archive.KEYS
    known = {"SECRET_KEY": settings.SECRET_KEY, "TOOLGATE_ENCRYPTION_KEYS": settings.TOOLGATE_ENCRYPTION_KEYS}
    path.write_text(json.dumps(known))
    demo = Path(settings.TOOLGATE_DATA_DIR) / DEMO
    return {archive.KEYS: path} | ({DEMO: Path(shutil.copyfile(demo, place / DEMO))} if demo.exists() else {})
