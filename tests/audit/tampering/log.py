"""What can be done to the log: its tiles, heads and keys, and all of it."""

import os
import random

from audit.log import leaves, merkle, tiles
from audit.log.notes import Checkpoint, Signer, sign
from tests.audit.tampering.calls import NEW, commit_again, leaves_of
from tests.audit.tampering.entries import SEALED
from tests.audit.tampering.rows import Connection, Row, Target, insert, one, other, update


def truncate_log(connection: Connection, rng: random.Random, number: int) -> Target:
    """The tail goes: entries, then also heads, then also tiles, then also the calls and all that is about them."""
    [size] = connection.execute("SELECT count(*) AS n FROM ledger_entries WHERE leaf_index IS NOT NULL").fetchall()
    keep = rng.randrange(size["n"] - 1)
    gone = connection.execute("SELECT DISTINCT call_id FROM ledger_entries WHERE leaf_index >= %s", [keep]).fetchall()
    if number % 4 == 3:
        calls = [row["call_id"] for row in gone]
        for table in ("approval_decisions", "ledger_entries"):
            connection.execute(f"DELETE FROM {table} WHERE call_id = ANY(%s)".encode(), [calls])
        connection.execute("DELETE FROM tool_calls WHERE id = ANY(%s)", [calls])
    connection.execute("DELETE FROM ledger_entries WHERE leaf_index >= %s OR leaf_index IS NULL", [keep])
    if number % 4 >= 1:
        connection.execute("DELETE FROM ledger_checkpoints WHERE size > %s", [keep])
    if number % 4 >= 2:
        remake_tiles(connection)
    return Target(leaves={size["n"] - 1}, what=["entries", "and heads", "and tiles", "and calls"][number % 4])


def remake_tiles(connection: Connection) -> tuple[int, bytes]:
    """The tiles as the entries that there are make them; the size and the root."""
    connection.execute("DELETE FROM ledger_tiles")
    query = "SELECT * FROM ledger_entries WHERE leaf_index IS NOT NULL ORDER BY leaf_index"
    hashes = [leaves.leaf_hash(row) for row in connection.execute(query)]
    for (level, index), tile in tiles.grown(0, hashes, {}).items():
        insert(connection, "ledger_tiles", {"level": level, "index": index, "hashes": tile})
    return len(hashes), merkle.root(hashes)


def change_tile(connection: Connection, rng: random.Random, number: int) -> Target:
    """A tile has a bit flipped, is cut, grows, or goes; or one comes."""
    tile = one(connection, rng, "SELECT * FROM ledger_tiles ORDER BY level, index")
    key = {"level": tile["level"], "index": tile["index"]}
    how = ["flipped", "cut", "longer", "gone", "new"][number % 5]
    if how == "gone":
        connection.execute("DELETE FROM ledger_tiles WHERE level = %s AND index = %s", [tile["level"], tile["index"]])
    elif how == "new":
        insert(connection, "ledger_tiles", {"level": rng.randrange(3), "index": 50, "hashes": os.urandom(64)})
    else:
        hashes = tile["hashes"]
        changed = {"flipped": other(rng, "hashes", hashes), "cut": hashes[:-32], "longer": hashes + os.urandom(32)}
        update(connection, "ledger_tiles", key, {"hashes": changed[how]})
    return Target(tables={"ledger_tiles"}, what=how)


def change_head(connection: Connection, rng: random.Random, number: int) -> Target:
    """A head is another, is signed by another, goes, or comes."""
    head = one(connection, rng, "SELECT * FROM ledger_checkpoints ORDER BY id")
    how = ["note", "root", "size", "origin", "created_at", "other key", "other root", "gone", "new"][number % 9]
    stranger = Signer.generate(head["origin"])
    forged = Checkpoint(head["origin"], head["size"], os.urandom(32))
    values: Row = {}
    if how in ("root", "size", "origin", "created_at"):
        values = {how: other(rng, how, head[how])}
    elif how == "note":
        # Anywhere but at the end of the signature, where two bits of a character say nothing.
        place = rng.randrange(len(head["note"].rstrip("=\n")) - 1)
        written = "y" if head["note"][place] == "x" else "x"
        values = {"note": head["note"][:place] + written + head["note"][place + 1 :]}
    elif how == "other key":
        values = {"note": sign(Checkpoint(head["origin"], head["size"], head["root"]).text(), stranger)}
    elif how == "other root":
        values = {"note": sign(forged.text(), stranger), "root": forged.root}
    if how == "gone":
        connection.execute("DELETE FROM ledger_checkpoints WHERE id = %s", [head["id"]])
    elif how == "new":
        more = Checkpoint(head["origin"], 10**6, os.urandom(32))
        row = {"origin": more.origin, "size": more.size, "root": more.root, "note": sign(more.text(), stranger)}
        insert(connection, "ledger_checkpoints", row)
    else:
        update(connection, "ledger_checkpoints", {"id": head["id"]}, values)
    return Target(tables={"ledger_checkpoints"}, leaves={head["size"] - 1}, what=how)


def change_key(connection: Connection, rng: random.Random, number: int) -> Target:
    """A key is another, is not endorsed, goes, or comes."""
    how = ["vkey", "origin", "endorsement", "gone", "stranger", "stranger with a log"][number % 6]
    key = one(connection, rng, "SELECT * FROM ledger_keys ORDER BY id")
    stranger = Signer.generate(key["origin"] if how == "stranger" else f"log/{number}").verifier
    if how == "gone":
        connection.execute("DELETE FROM ledger_keys WHERE id = %s", [key["id"]])
    elif how.startswith("stranger"):
        insert(connection, "ledger_keys", {"vkey": stranger.to_text(), "origin": stranger.name, "reason": ""})
    else:
        changed = stranger.to_text() if how == "vkey" else "made up"
        update(connection, "ledger_keys", {"id": key["id"]}, {how: changed})
    return Target(tables={"ledger_keys", "ledger_checkpoints"}, what=how)


def fork(connection: Connection, rng: random.Random, number: int) -> Target:
    """Another past from some entry on, with all tiles made again; then also its heads, by a key of one's own."""
    call = one(connection, rng, NEW.replace("ORDER BY", "AND status = 'success' ORDER BY"))
    rng_of = random.Random(number)
    places = leaves_of(connection, call["id"])
    while not places:
        call = one(connection, rng, NEW.replace("ORDER BY", "AND status = 'success' ORDER BY"))
        places = leaves_of(connection, call["id"])
    call |= {"tool_name": "made_up", "display": f"{rng_of.random()}"}
    values = {"tool_name": "made_up", "display": call["display"]}
    update(connection, "tool_calls", {"id": call["id"]}, values)
    for kind in ("proposed", "settled"):
        commit_again(connection, call, kind)
    remake_tiles(connection)
    if number % 2:
        _forge_heads(connection, min(places))
    return Target(leaves=places, what=["tiles", "tiles and heads"][number % 2])


def _forge_heads(connection: Connection, first: int) -> None:
    heads = connection.execute("SELECT * FROM ledger_checkpoints WHERE size > %s ORDER BY size", [first]).fetchall()
    hashes = [
        leaves.leaf_hash(row)
        for row in connection.execute(SEALED.replace("ORDER BY seq", "ORDER BY leaf_index")).fetchall()
    ]
    signer = Signer.generate(heads[0]["origin"])
    insert(connection, "ledger_keys", {"vkey": signer.verifier.to_text(), "origin": signer.verifier.name, "reason": ""})
    for head in heads:
        made = Checkpoint(head["origin"], head["size"], merkle.root(hashes[: head["size"]]))
        values = {"root": made.root, "note": sign(made.text(), signer)}
        update(connection, "ledger_checkpoints", {"id": head["id"]}, values)


def empty_tables(connection: Connection, rng: random.Random, number: int) -> Target:
    """A table loses all its rows."""
    every = ["ledger_entries", "tool_calls", "approval_decisions", "erasures", "history_reads", "ledger_tiles",
             "setting_changes", "ledger_checkpoints", "ledger_keys"]  # fmt: skip
    table = every[number % len(every)]
    first = one(connection, random.Random(0), SEALED)
    connection.execute(f"DELETE FROM {table}".encode())
    return Target(tables={table, "ledger_entries"}, leaves={first["leaf_index"]}, what=table)
