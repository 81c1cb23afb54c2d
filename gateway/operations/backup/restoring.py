"""Restores a backup into an empty database and a data directory without a log of its own.

Everything that can be refused is refused before anything is written. The dump is restored in one transaction, and the
files come after it: a restore that fails can be begun again.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from audit.log import checkpoints, keys
from audit.log.errors import WrongSigningKey
from audit.log.notes import BadKey, Signer
from gateway.operations.backup import archive, making, programs
from gateway.operations.backup.errors import BackupRefused
from gateway.process import environment as env
from tenants.scope import private_files
from tenants.scope.logins import replace_secrets
from tenants.scope.roles import SetupRefused, setup

# Tables, views, sequences, functions and types of anybody's that are in no extension.
_OBJECTS = """
    SELECT count(*) FROM (
        SELECT oid, relnamespace AS schema FROM pg_class UNION ALL SELECT oid, pronamespace FROM pg_proc
    ) found JOIN pg_namespace n ON n.oid = found.schema
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = found.oid AND d.deptype = 'e')"""


def restore(source: Path) -> archive.Manifest:
    """Restore the backup in `source`; raises BackupRefused, and then the database is as empty as before."""
    manifest = archive.manifest_of(source)
    url = settings.DATABASE_URLS.get("owner", "")
    if not url:
        raise BackupRefused("DATABASE_OWNER_URL is not set: restoring needs the owner's login")
    data_dir = Path(settings.TOOLGATE_DATA_DIR)
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=data_dir, prefix=".restore-") as place:
            files = archive.extract(source, manifest, Path(place))
            secrets = _secrets(manifest, files)
            _check_release(manifest)
            _check_log(manifest, files)
            program = _check_database(url, manifest)
            setup(url, dict(settings.DATABASE_URLS))
            contents = Path(place) / "contents"
            contents.write_text("\n".join(_own(programs.listed(program, files[archive.DUMP]))))
            words: list[str | Path] = ["--no-owner", "--exit-on-error", "--single-transaction"]
            words += [f"--use-list={contents}", files[archive.DUMP]]
            programs.run(program, url, words)
            _put_files(files)
            replace_secrets(data_dir, secrets)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")
    except SetupRefused as refused:
        raise BackupRefused(str(refused)) from refused
    except psycopg.Error as error:
        raise BackupRefused(f"PostgreSQL refused: {str(error).strip().splitlines()[0]}") from error
    except OSError as error:
        raise BackupRefused(f"{error.filename} cannot be written or read: {error.strerror}") from error
    return manifest


def _own(contents: list[str]) -> list[str]:
    """What of a dump is restored: not the extension vector, which the server may not have and `setup` makes where it
    does. No table needs it."""
    return [line for line in contents if not re.search(r" EXTENSION (- )?vector\b", line)]


def _secrets(manifest: archive.Manifest, files: dict[str, Path]) -> dict[str, str]:
    """The generated secrets to take from the backup: those that the environment does not give."""
    known: dict[str, Any] = json.loads(files[archive.KEYS].read_bytes()) if archive.KEYS in files else {}
    found = {}
    if not env.text("SECRET_KEY") and known:
        found["secret_key"] = known["SECRET_KEY"]
    of_backup = known.get("TOOLGATE_ENCRYPTION_KEYS", [])
    if not env.text("TOOLGATE_ENCRYPTION_KEYS") and len(of_backup) == 1:
        return found | {"encryption_key": of_backup[0]}
    if not set(manifest.encryption_keys) <= set(making.key_digests(settings.TOOLGATE_ENCRYPTION_KEYS)):
        how = "`manage.py restore FILE --show-keys` prints them" if known else "the backup was made --without-keys"
        raise BackupRefused(f"TOOLGATE_ENCRYPTION_KEYS must hold every key of the backed-up Toolgate; {how}")
    return found


def _check_release(manifest: archive.Manifest) -> None:
    known = MigrationLoader(None).disk_migrations
    unknown = [f"{app}.{name}" for app, name in manifest.migrations.items() if (app, name) not in known]
    if unknown:
        raise BackupRefused(f"the backup was made by another, probably newer release: {unknown[0]} is not known here")


def _check_log(manifest: archive.Manifest, files: dict[str, Path]) -> None:
    """The log goes on with its own key and heads, and no other log is lost for it."""
    for path, name in ((checkpoints.path(), making.CHECKPOINTS), (keys.public_path(), making.LEDGER_PUB)):
        if path.exists() and not (name in files and path.read_bytes() == files[name].read_bytes()):
            raise BackupRefused(f"{path} is of another log: restore with an empty TOOLGATE_DATA_DIR")
    if manifest.log_key is None:
        return
    private = keys.private_path()
    try:
        if keys.is_given() or private.exists():
            keys.signer(manifest.log_key)
        elif archive.LEDGER_KEY not in files:
            raise BackupRefused(f"the backup was made --without-keys: put the log's key into {private} first")
        elif Signer.from_text(files[archive.LEDGER_KEY].read_text().strip()).verifier.to_text() != manifest.log_key:
            raise BackupRefused("the backup is damaged: its ledger.key is not the log's")
    except (WrongSigningKey, BadKey) as wrong:
        raise BackupRefused(f"this is not the key of the log that is to be restored: {wrong}") from None


def _check_database(url: str, manifest: archive.Manifest) -> programs.Program:
    with psycopg.connect(url) as connection:
        major = connection.info.server_version // 10_000
        row = connection.execute(_OBJECTS).fetchone()
        database = connection.info.dbname
    if row is None or row[0]:
        raise BackupRefused(f"the database {database} is not empty: restore into a new one, which nobody has set up")
    if major < manifest.dump_major:
        raise BackupRefused(f"the server is PostgreSQL {major}; the backup needs {manifest.dump_major} or newer")
    return programs.find("pg_restore", manifest.dump_major, "this backup")


def _put_files(files: dict[str, Path]) -> None:
    """Put what belongs to the log, and the demo's passwords, where they are looked for."""
    data_dir = Path(settings.TOOLGATE_DATA_DIR)
    for name, source in files.items():
        if name in (archive.DUMP, archive.KEYS) or (name == archive.LEDGER_KEY and keys.is_given()):
            continue
        target = checkpoints.path() if name == making.CHECKPOINTS else data_dir / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as content, private_files.replacing(target) as file:
            shutil.copyfileobj(content, file)
