"""Changes the signing key: another key for the same log, or a new log after the old one was lost."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.calls.recorder import Connection
from audit.log import checkpoints, keys, sealing, tiles
from audit.log.errors import LogDiffers
from audit.log.leaves import leaf_hash
from audit.log.notes import Checkpoint, Signer, sign
from tenants.scope import transactions

_LOCK = "SELECT pg_advisory_xact_lock(%s)"
_REGISTER = "INSERT INTO ledger_keys (vkey, origin, endorsement, reason) VALUES (%s, %s, %s, %s)"
_KEYS = "SELECT vkey, origin, reason, created_at FROM ledger_keys ORDER BY id"
_LARGEST = "SELECT size, root FROM ledger_checkpoints ORDER BY id DESC LIMIT 1"
_SEALED = """
    SELECT leaf_index, tenant_id, tenant_index, seq, call_id, record_id, kind, version, commitment, created_at
    FROM ledger_entries WHERE leaf_index >= %s AND leaf_index < %s ORDER BY leaf_index"""
_AT_ONCE = 65_536


@dataclass(frozen=True)
class Changed:
    """The new public key, the log's size, the old checkpoint file's path; `private` where the operator provides it."""

    vkey: str
    size: int
    aside: Path | None = None
    private: str | None = None


async def public_keys() -> list[dict[str, Any]]:
    """The public keys that the database names, oldest first."""
    return await transactions.fetch(_KEYS, login="system")


async def rotate() -> Changed:
    """Sign with a new key from now on, which the old one endorses; raises SealingRefused when the log differs."""
    async with (await transactions.pool("system")).connection() as connection, connection.transaction():
        await connection.execute(_LOCK, [sealing.LOCK])
        newest = await (await connection.execute(sealing.NEWEST_KEY)).fetchone()
        old = keys.signer(newest["vkey"] if newest else None)
        head = await sealing.checked_head(connection, old)
        if newest is None:
            # Nothing was sealed yet: nobody endorses the first key.
            await connection.execute(_REGISTER, [old.verifier.to_text(), head.origin, None, ""])
        new = Signer.generate(head.origin)
        endorsement = sign(f"{keys.ENDORSEMENT}\n{new.verifier.to_text()}\n{head.size}\n", old)
        await connection.execute(_REGISTER, [new.verifier.to_text(), head.origin, endorsement, ""])
        private = _take(new)
    return _taken(new, Changed(new.verifier.to_text(), head.size, private=private))


async def begin_new_log(reason: str) -> Changed:
    """Continue with what exists, under a new name and key, whatever happened to the log before; `reason` is stored.

    The new log begins with the entries that are sealed, as the database has them now.
    """
    new = Signer.generate(keys.new_origin())
    async with (await transactions.pool("system")).connection() as connection, connection.transaction():
        await connection.execute(_LOCK, [sealing.LOCK])
        last = await (await connection.execute(_LARGEST)).fetchone()
        size = last["size"] if last else 0
        await connection.execute(_REGISTER, [new.verifier.to_text(), new.verifier.name, None, reason])
        if size:
            root = await _root(connection, size)
            await sealing.sign_head(connection, Checkpoint(new.verifier.name, size, root), new)
        private = _take(new)
    # Only now: while the old log is the one in use, its file must not be missing.
    aside = checkpoints.set_aside(f"until-{new.verifier.name.rpartition('/')[2]}")
    return _taken(new, Changed(new.verifier.to_text(), size, aside, private))


def _take(new: Signer) -> str | None:
    keys.publish(new.verifier)
    if keys.is_given():
        return new.to_text()
    keys.prepare(new)
    return None


def _taken(new: Signer, changed: Changed) -> Changed:
    """The private key replaces the old one only once the database has the public key; the old one is then removed."""
    if not keys.is_given():
        keys.signer(new.verifier.to_text())
    return changed


async def _root(connection: Connection, size: int) -> bytes:
    """The root over the first entries; where the tiles do not have it, they are made again from the entries."""
    last = await sealing.read_tiles(connection, tiles.edge(size))
    try:
        found = tiles.root_of(size, last)
        heads = await connection.execute("SELECT FROM ledger_checkpoints WHERE size = %s AND root = %s", [size, found])
        if await heads.fetchone() is not None:
            return found
    except tiles.BadTiles:
        pass
    edge: dict[tiles.Place, bytes] = {}
    for start in range(0, size, _AT_ONCE):
        batch = await (await connection.execute(_SEALED, [start, min(size, start + _AT_ONCE)])).fetchall()
        if [row["leaf_index"] for row in batch] != list(range(start, min(size, start + _AT_ONCE))):
            raise LogDiffers(f"entries are missing between {start} and {min(size, start + _AT_ONCE)} of the log")
        hashes = await asyncio.to_thread(lambda rows: [leaf_hash(row) for row in rows], batch)
        changed = tiles.grown(start, hashes, edge)
        await sealing.keep_tiles(connection, changed)
        edge |= changed
    return tiles.root_of(size, edge)
