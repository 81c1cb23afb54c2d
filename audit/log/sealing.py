"""Puts ledger entries into the log: an RFC 6962 Merkle tree, whose heads are signed.

One worker seals at a time. A transaction gives a batch of entries their places, grows the tiles, signs the new head and
counts the settled calls; entries that are committed later are found later, whatever their numbers. Each transaction
first writes the earlier heads to the checkpoint file, so a round that is stopped anywhere is continued by the next one.
Before that it checks that what is stored is what was signed: if not, nothing is sealed.
"""

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any

from audit.calls.recorder import Connection
from audit.log import checkpoints, counting, keys, leaves, tiles
from audit.log.errors import LogDiffers, SealingRefused
from audit.log.merkle import EMPTY_ROOT
from audit.log.notes import BadNote, Checkpoint, Signer, Verifier, open_note, sign
from tenants.scope import transactions

Row = dict[str, Any]
BATCH = 5_000
# The advisory lock for sealing, and for changing the key.
LOCK = 0x746F6F6C6C6F67

# Everything here is found by an index, in its order. Statistics of a table in which next to nothing is unsealed, or all
# of it, lead PostgreSQL to read more; and only a plain index scan takes away the dead ends that sealing leaves behind.
_TRY_LOCK = """
    SELECT pg_try_advisory_xact_lock(%s) AS got,
        set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"""
NEWEST_KEY = "SELECT vkey, origin FROM ledger_keys ORDER BY id DESC LIMIT 1"
# The size of the largest head, 0 without one.
LARGEST = "SELECT coalesce(max(size), 0) AS size FROM ledger_checkpoints"
# By the index of unsealed entries, and no further than what anybody needs to know.
_BACKLOG = """
    SELECT count(*) AS unsealed, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS age,
        coalesce((SELECT size FROM ledger_checkpoints ORDER BY id DESC LIMIT 1), 0) AS size
    FROM (SELECT created_at FROM ledger_entries WHERE leaf_index IS NULL ORDER BY seq LIMIT 100000) AS waiting"""
_REGISTER = "INSERT INTO ledger_keys (vkey, origin, reason) VALUES (%s, %s, '')"
_HEAD = "SELECT id, origin, size, root, note FROM ledger_checkpoints WHERE origin = %s ORDER BY size DESC LIMIT 1"
_AT = "SELECT root FROM ledger_checkpoints WHERE origin = %s AND size = %s"
_SINCE = "SELECT note, created_at FROM ledger_checkpoints WHERE origin = %s AND size > %s ORDER BY size"
# By the end of the index: asked whether there is one beyond the head, PostgreSQL would read the whole table.
_LAST = "SELECT max(leaf_index) AS last FROM ledger_entries WHERE leaf_index IS NOT NULL"
_UNSEALED = """
    SELECT seq, tenant_id, call_id, record_id, kind, version, commitment, created_at FROM ledger_entries
    WHERE leaf_index IS NULL ORDER BY seq LIMIT %s"""
_TENANTS = """
    SELECT id, (SELECT max(tenant_index) FROM ledger_entries WHERE tenant_id = id AND leaf_index IS NOT NULL) AS last
    FROM unnest(%s::uuid[]) AS of (id)"""
_MARK = """
    UPDATE ledger_entries AS entry SET leaf_index = place.leaf_index, tenant_index = place.tenant_index
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS place (seq, leaf_index, tenant_index)
    WHERE entry.seq = place.seq AND entry.leaf_index IS NULL"""
_TILES = """
    SELECT tile.level, tile.index, tile.hashes FROM unnest(%s::smallint[], %s::bigint[]) AS wanted (level, index)
    JOIN ledger_tiles AS tile USING (level, index)"""
_KEEP = """
    INSERT INTO ledger_tiles (level, index, hashes) SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::bytea[])
    ON CONFLICT (level, index) DO UPDATE SET hashes = EXCLUDED.hashes"""
_SIGNED = "INSERT INTO ledger_checkpoints (origin, size, root, note) VALUES (%s, %s, %s, %s)"


@dataclass(frozen=True)
class Sealed:
    """How many entries were sealed, and how many there are in the log; `busy` when somebody else was sealing."""

    entries: int = 0
    size: int = 0
    busy: bool = False


async def seal() -> Sealed:
    """Seal everything that is committed and unsealed; raises SealingRefused, an alarm, without having sealed more."""
    try:
        return await _seal()
    except OSError as error:
        raise SealingRefused(f"{error.filename} cannot be read or written: {error.strerror}") from error


async def backlog() -> Row:
    """How many entries are not sealed yet, up to 100,000; the oldest one's `age` in seconds; the log's `size`."""
    [found] = await transactions.fetch(_BACKLOG, login="system")
    return found


async def _seal() -> Sealed:
    entries = 0
    while True:
        done = await _seal_batch(BATCH)
        entries += done.entries
        if done.entries < BATCH:
            break
    if entries and not done.busy:
        # What is committed meanwhile waits for the next round, but the last head is written out in this one.
        await _seal_batch(0)
    return Sealed(entries, done.size, done.busy)


async def _seal_batch(most: int) -> Sealed:
    async with (await transactions.pool("system")).connection() as connection, connection.transaction():
        if not (await _one(connection, _TRY_LOCK, LOCK))["got"]:
            return Sealed(busy=True)
        batch = await _all(connection, _UNSEALED, most)
        registered = await _first(connection, NEWEST_KEY)
        if not batch and registered is None:
            return Sealed()
        signer = await asyncio.to_thread(keys.signer, registered["vkey"] if registered else None)
        head = await checked_head(connection, signer)
        if not batch:
            return Sealed(size=head.size)
        if registered is None:
            await connection.execute(_REGISTER, [signer.verifier.to_text(), signer.verifier.name])
        return Sealed(len(batch), await _add(connection, batch, head, signer))


async def checked_head(connection: Connection, signer: Signer) -> Checkpoint:
    """The head that the log continues from, once database, tiles and checkpoint file agree; raises SealingRefused.

    Heads that the checkpoint file does not have yet are written to it.
    """
    origin = signer.verifier.name
    verifiers = [each for each in await asyncio.to_thread(keys.known, signer) if each.name == origin]
    row = await _first(connection, _HEAD, origin)
    head = Checkpoint(origin, 0, EMPTY_ROOT)
    if row is not None:
        head = Checkpoint(origin, row["size"], bytes(row["root"]))
        if _opened(row["note"], verifiers) != head:
            raise LogDiffers(f"the last checkpoint, of size {head.size}, is not what was signed")
        if await _root(connection, head.size) != head.root:
            raise LogDiffers(f"the tiles do not have the root of the last checkpoint, of size {head.size}")
    last = (await _one(connection, _LAST))["last"]
    if last is not None and last >= head.size:
        raise LogDiffers(f"an entry is in the log beyond its last checkpoint, of size {head.size}")
    await _write_out(connection, head, verifiers)
    return head


async def _write_out(connection: Connection, head: Checkpoint, verifiers: list[Verifier]) -> None:
    note = await asyncio.to_thread(checkpoints.last_note)
    written = Checkpoint(head.origin, 0, EMPTY_ROOT) if note is None else _opened(note, verifiers)
    if written.size > head.size:
        raise LogDiffers(
            f"the checkpoint file is ahead of the database, at size {written.size} and not {head.size}: was an old"
            " backup restored?"
        )
    same = await _first(connection, _AT, head.origin, written.size)
    if written.size and (same is None or bytes(same["root"]) != written.root):
        raise LogDiffers(f"the checkpoint file and the database differ about size {written.size}")
    missing = await _all(connection, _SINCE, head.origin, written.size)
    for row in missing:
        _opened(row["note"], verifiers)
    if missing:
        await asyncio.to_thread(checkpoints.append, missing)


def _opened(note: str, verifiers: list[Verifier]) -> Checkpoint:
    try:
        return Checkpoint.parse(open_note(note, verifiers))
    except BadNote as error:
        raise LogDiffers(f"a checkpoint is not this log's: {error}") from None


async def _add(connection: Connection, batch: list[Row], head: Checkpoint, signer: Signer) -> int:
    """Give the entries their places after the head, and sign the new one; returns its size."""
    next_of = await _next_of_tenants(connection, {row["tenant_id"] for row in batch})
    for index, row in enumerate(batch, head.size):
        row["leaf_index"], row["tenant_index"] = index, next_of[row["tenant_id"]]
        next_of[row["tenant_id"]] += 1
    edge = await read_tiles(connection, tiles.edge(head.size))
    try:
        new, changed = await asyncio.to_thread(_grown, head, batch, edge)
    except tiles.BadTiles as error:
        raise LogDiffers(f"the log cannot grow: {error}") from None
    marked = await connection.execute(
        _MARK, [[row[name] for row in batch] for name in ("seq", "leaf_index", "tenant_index")]
    )
    if marked.rowcount != len(batch):
        raise SealingRefused("an entry was changed while it was being sealed")
    await keep_tiles(connection, changed)
    await sign_head(connection, new, signer)
    await counting.count(connection, batch)
    return new.size


def _grown(head: Checkpoint, batch: list[Row], edge: dict[tiles.Place, bytes]) -> tuple[Checkpoint, tiles.Tiles]:
    changed = tiles.grown(head.size, [leaves.leaf_hash(row) for row in batch], edge)
    size = head.size + len(batch)
    return Checkpoint(head.origin, size, tiles.root_of(size, edge | changed)), changed


async def _next_of_tenants(connection: Connection, ids: set[uuid.UUID]) -> dict[uuid.UUID, int]:
    found = await _all(connection, _TENANTS, list(ids))
    return {row["id"]: 0 if row["last"] is None else row["last"] + 1 for row in found}


async def _root(connection: Connection, size: int) -> bytes | None:
    try:
        return tiles.root_of(size, await read_tiles(connection, tiles.edge(size)))
    except tiles.BadTiles:
        return None


async def read_tiles(connection: Connection, wanted: set[tiles.Place]) -> dict[tiles.Place, bytes]:
    """Those of the tiles that there are."""
    places = sorted(wanted)
    found = await _all(connection, _TILES, [level for level, _ in places], [index for _, index in places])
    return {(row["level"], row["index"]): bytes(row["hashes"]) for row in found}


async def keep_tiles(connection: Connection, changed: tiles.Tiles) -> None:
    """Store tiles, new ones and those that have grown."""
    places = sorted(changed)
    columns = [[level for level, _ in places], [index for _, index in places], [changed[place] for place in places]]
    await connection.execute(_KEEP, columns)


async def sign_head(connection: Connection, head: Checkpoint, signer: Signer) -> None:
    """Store a head with its signature."""
    await connection.execute(_SIGNED, [head.origin, head.size, head.root, sign(head.text(), signer)])


async def _all(connection: Connection, query: str, *values: object) -> list[Row]:
    return await (await connection.execute(query.encode(), values)).fetchall()


async def _first(connection: Connection, query: str, *values: object) -> Row | None:
    return await (await connection.execute(query.encode(), values)).fetchone()


async def _one(connection: Connection, query: str, *values: object) -> Row:
    row = await _first(connection, query, *values)
    assert row is not None
    return row
