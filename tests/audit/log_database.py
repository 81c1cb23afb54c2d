"""A database of its own with nothing in it yet, for a log, and how it is sealed, verified and changed as its owner."""

import asyncio
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.conf import settings
from django.test import override_settings
from psycopg.rows import dict_row

from audit.checks.findings import Finding, Summary
from audit.checks.snapshots import Snapshot
from audit.checks.verification import Verification
from audit.log import checkpoints, keys, sealing
from tenants.scope import transactions

Row = dict[str, Any]


def _at(database: str, url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


@dataclass
class LogDatabase:
    """The database, its files, and who is in it."""

    owner_url: str
    directory: Path
    overrides: dict[str, Any]
    people: list[tuple[uuid.UUID, uuid.UUID]] = field(default_factory=list)
    tenants: list[uuid.UUID] = field(default_factory=list)

    @contextmanager
    def settings(self) -> Iterator[None]:
        """The code below works on this database and its files."""
        with override_settings(**self.overrides):
            yield

    def run(self, work: Callable[[], Any]) -> Any:
        """Run asynchronous code on it."""

        async def through() -> Any:
            try:
                return await work()
            finally:
                await transactions.close_pools()

        with self.settings():
            return asyncio.run(through())

    def environment(self) -> dict[str, str]:
        """What a command is to find it by."""
        urls = self.overrides["DATABASE_URLS"]
        names = {"default": "", "system": "SYSTEM_", "operator": "OPERATOR_", "owner": "OWNER_"}
        found = {f"DATABASE_{names[alias]}URL": url for alias, url in urls.items()}
        return os.environ | found | {"TOOLGATE_DATA_DIR": str(self.directory)}

    def seal(self) -> sealing.Sealed:
        """Seal what waits."""
        sealed: sealing.Sealed = self.run(sealing.seal)
        return sealed

    @contextmanager
    def owner(self) -> Iterator[psycopg.Connection[Row]]:
        """The database's owner, with no trigger in the way; what is done is undone."""
        with psycopg.connect(self.owner_url, row_factory=dict_row) as connection:
            yield connection
            connection.rollback()

    def vkeys(self) -> list[str]:
        """The public keys that have signed here, from the file."""
        with self.settings():
            return keys.public_path().read_text().split()

    def lines(self) -> list[str]:
        """The checkpoint file's."""
        with self.settings():
            return checkpoints.path().read_text().splitlines(keepends=True)

    def verified(self, connection: psycopg.Connection[Row], **more: Any) -> tuple[list[Finding], Summary]:
        """What a verification finds in what the connection's transaction sees."""
        given = {"trusted": self.vkeys(), "lines": self.lines()} | more
        verification = Verification(Snapshot(connection), **given)
        return list(verification.found()), verification.summary


def make_database() -> LogDatabase:
    """A database of nobody's yet."""
    database = f"log_{uuid.uuid4().hex[:12]}"
    owner = settings.DATABASE_URLS["owner"]
    with psycopg.connect(_at("postgres", owner), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE {database} TEMPLATE "{os.environ["TEMPLATE_DATABASE"]}"'.encode())
    directory = Path(tempfile.mkdtemp(prefix="toolgate-log-"))
    overrides = {
        "DATABASE_URLS": {name: _at(database, url) for name, url in settings.DATABASE_URLS.items()},
        "TOOLGATE_DATA_DIR": directory,
        "TOOLGATE_CHECKPOINT_FILE": directory / "checkpoints.jsonl",
    }
    made = LogDatabase(_at(database, owner), directory, overrides)
    with psycopg.connect(made.owner_url) as connection:
        _unguard(connection)
        for slug in ("one", "two"):
            tenant_id = uuid.uuid4()
            made.tenants.append(tenant_id)
            connection.execute(
                "INSERT INTO tenants (id, slug, name, role_ceilings, default_tools, created_at)"
                " VALUES (%s, %s, %s, '{}', '[]', now())",
                [tenant_id, slug, slug],
            )
            for name in ("alice", "carol"):
                user_id = uuid.uuid4()
                made.people.append((tenant_id, user_id))
                connection.execute(
                    "INSERT INTO users (id, password, is_superuser, username, first_name, last_name, email, is_staff,"
                    " is_active, date_joined) VALUES (%s, '!', false, %s, '', '', '', false, true, now())",
                    [user_id, f"{name}-{slug}"],
                )
    return made


def _unguard(connection: psycopg.Connection[Any]) -> None:
    """What the owner can do: take away the triggers, and every constraint but the primary keys."""
    tables = connection.execute(
        "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
        " AND relname ~ '^(tool_calls$|ledger_|approval_|erasures|history_reads|setting_changes)'"
    ).fetchall()
    for [table] in tables:
        connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
        constraints = connection.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('f', 'c')", [table]
        )
        for [name] in constraints.fetchall():
            connection.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"'.encode())
