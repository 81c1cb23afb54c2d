"""Sealing in tests, and logs of their own that tests may break."""

import asyncio
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson
import psycopg
import pytest
from django.conf import settings
from django.db import connections

from audit.calls import begun, proposing
from audit.log import merkle, sealing, tiles
from audit.log.errors import SealingRefused
from audit.log.leaves import leaf_hash
from audit.log.notes import Checkpoint, Verifier, open_note
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.audit.calls import REFUSED, new_call, place, success
from tests.database import rows
from tests.people import Cast, Person

URLS = ("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SYSTEM_URL", "DATABASE_OPERATOR_URL")


async def seal() -> sealing.Sealed:
    """Seal what is committed, after whoever seals at this moment."""
    while True:
        sealed = await sealing.seal()
        if not sealed.busy:
            return sealed


def seal_now() -> sealing.Sealed:
    """The same outside of an event loop."""

    async def once() -> sealing.Sealed:
        try:
            return await seal()
        finally:
            await transactions.close_pools()

    return asyncio.run(once())


@contextmanager
def own_log(directory: Path) -> Iterator[None]:
    """A database and a data directory that nobody else uses; everything of this process goes there meanwhile."""
    name = f"log_{uuid.uuid4().hex[:12]}"
    with pytest.MonkeyPatch.context() as patch:
        with psycopg.connect(_at(os.environ["DATABASE_OWNER_URL"], "postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{os.environ["TEMPLATE_DATABASE"]}"'.encode())
        (directory / "generated.json").write_bytes((Path(settings.TOOLGATE_DATA_DIR) / "generated.json").read_bytes())
        for variable in URLS:
            if os.environ.get(variable):
                patch.setenv(variable, _at(os.environ[variable], name))
        patch.setenv("TOOLGATE_DATA_DIR", str(directory))
        patch.setattr(settings, "TOOLGATE_DATA_DIR", directory)
        patch.setattr(settings, "TOOLGATE_CHECKPOINT_FILE", directory / "checkpoints.jsonl")
        patch.setattr(settings, "DATABASE_URLS", {key: _at(url, name) for key, url in settings.DATABASE_URLS.items()})
        for alias in connections:
            patch.setitem(connections.settings[alias], "NAME", name)
        connections.close_all()
        try:
            yield
        finally:
            connections.close_all()


def _at(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def as_owner(*statements: str) -> None:
    """Run statements as the database's owner, with the triggers of every table off."""
    tables = ("tool_calls", "ledger_entries", "ledger_checkpoints")
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as connection:

        def triggers(change: str) -> None:
            for table in tables:
                connection.execute(f"ALTER TABLE {table} {change} TRIGGER USER".encode())

        triggers("DISABLE")
        try:
            with connection.transaction():
                for statement in statements:
                    connection.execute(statement.encode())
        finally:
            triggers("ENABLE")


async def write_calls(person: Person, count: int = 1) -> list[uuid.UUID]:
    """Calls that were refused: two entries each; their ids."""
    calls = [new_call(position, REFUSED) for position in range(count)]
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), calls, frozenset())
    return [call.id for call in calls]


async def write_success(person: Person) -> uuid.UUID:
    """A call that ran and succeeded; its id."""
    call = new_call()
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), [call], frozenset([call.id]))
        claimed = await begun.claim(connection, person.scope, call.id, 15)
        assert claimed is not None
        assert await begun.settle(connection, claimed, success())
    return call.id


def entries() -> list[dict[str, Any]]:
    """What is in the log, in its order."""
    return rows("SELECT * FROM ledger_entries WHERE leaf_index IS NOT NULL ORDER BY leaf_index")


def verifiers() -> list[Verifier]:
    """The public keys that the database names."""
    return [Verifier.from_text(row["vkey"]) for row in rows("SELECT vkey FROM ledger_keys ORDER BY id")]


def heads() -> list[Checkpoint]:
    """Every signed head, its signature checked, in the order in which they were signed."""
    found = rows("SELECT note FROM ledger_checkpoints ORDER BY id")
    return [Checkpoint.parse(open_note(row["note"], verifiers())) for row in found]


def stored_tiles() -> dict[tiles.Place, bytes]:
    """Every tile."""
    return {(row["level"], row["index"]): bytes(row["hashes"]) for row in rows("SELECT * FROM ledger_tiles")}


def check() -> None:
    """Every committed entry is there once, in tiles and heads alike, and all heads are of one tree."""
    found = entries()
    assert rows("SELECT seq FROM ledger_entries WHERE leaf_index IS NULL") == []
    assert [entry["leaf_index"] for entry in found] == list(range(len(found)))
    of_tenants: dict[Any, list[int]] = {}
    for entry in found:
        of_tenants.setdefault(entry["tenant_id"], []).append(entry["tenant_index"])
    assert all(indices == list(range(len(indices))) for indices in of_tenants.values())
    hashes = [leaf_hash(entry) for entry in found]
    assert stored_tiles() == tiles.grown(0, hashes, {})
    signed = heads()
    assert signed[-1].size == len(found)
    for head in signed:
        assert head.root == merkle.root(hashes[: head.size])
    assert filed() == signed


def filed() -> list[Checkpoint]:
    """The heads in the checkpoint file."""
    lines = Path(settings.TOOLGATE_CHECKPOINT_FILE).read_bytes().splitlines()
    return [Checkpoint.parse(open_note(orjson.loads(line)["note"], verifiers())) for line in lines]


class Cut(BaseException):
    """As when the process is killed."""


async def refused(kind: type[SealingRefused], words: str) -> None:
    """Sealing says no in these words, and nothing is sealed or signed."""
    before = (rows("SELECT * FROM ledger_entries ORDER BY seq"), rows("SELECT * FROM ledger_checkpoints ORDER BY id"))
    with pytest.raises(kind, match=words):
        await sealing.seal()
    after = (rows("SELECT * FROM ledger_entries ORDER BY seq"), rows("SELECT * FROM ledger_checkpoints ORDER BY id"))
    assert after == before


async def three_heads(people: Cast) -> None:
    """Seal three times, two entries each."""
    for _ in range(3):
        await write_calls(people.alice)
        await sealing.seal()


# As an old backup has it, of a log of three heads.
RESTORED = (
    "UPDATE ledger_entries SET leaf_index = NULL, tenant_index = NULL WHERE leaf_index >= 4",
    "DELETE FROM ledger_checkpoints WHERE size > 4",
    "UPDATE ledger_tiles SET hashes = substr(hashes, 1, 128) WHERE level = 0",
)
