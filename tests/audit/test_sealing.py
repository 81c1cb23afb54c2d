"""Every committed entry gets one place in the log, and every head fits all that came before it."""

import asyncio
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from audit import checkpoints, keys, merkle, recorder, rotation, sealing, tiles
from audit.errors import LogDiffers, SealingRefused, WrongSigningKey
from audit.leaves import leaf_hash
from audit.notes import Checkpoint, Signer, Verifier, open_note
from tenants.scoping import transaction
from tests.audit import logs
from tests.audit.calls import REFUSED, new_call, place
from tests.database import rows
from tests.people import Cast, Person, make_tenant


@pytest.fixture(autouse=True)
def _own_log(tmp_path: Path) -> Iterator[None]:
    with logs.own_log(tmp_path):
        yield


@pytest.fixture
def people(_own_log: None) -> Cast:
    """A tenant in the log's own database."""
    return make_tenant()


@pytest.fixture
def others(_own_log: None) -> Cast:
    """Another one."""
    return make_tenant()


def check_the_log() -> None:
    """Every committed entry is there once, in tiles and heads alike, and all heads are of one tree."""
    found = logs.entries()
    assert rows("SELECT seq FROM ledger_entries WHERE leaf_index IS NULL") == []
    assert [entry["leaf_index"] for entry in found] == list(range(len(found)))
    of_tenants: dict[Any, list[int]] = {}
    for entry in found:
        of_tenants.setdefault(entry["tenant_id"], []).append(entry["tenant_index"])
    assert all(indices == list(range(len(indices))) for indices in of_tenants.values())
    hashes = [leaf_hash(entry) for entry in found]
    assert logs.stored_tiles() == tiles.grown(0, hashes, {})
    heads = logs.heads()
    assert heads[-1].size == len(found)
    for head in heads:
        assert head.root == merkle.root(hashes[: head.size])
    assert _filed() == heads


def _filed() -> list[Checkpoint]:
    """The heads in the checkpoint file."""
    import orjson

    lines = Path(settings.TOOLGATE_CHECKPOINT_FILE).read_bytes().splitlines()
    return [Checkpoint.parse(open_note(orjson.loads(line)["note"], logs.verifiers())) for line in lines]


async def test_what_was_committed_is_sealed_in_order_and_signed(people: Cast) -> None:
    first = await logs.write_calls(people.alice, 3)
    assert (await sealing.seal()).entries == 6
    second = [await logs.write_success(people.bob)]
    assert await sealing.seal() == sealing.Sealed(2, 8)
    found = logs.entries()
    assert [entry["call_id"] for entry in found] == [call for call in (*first, *second) for _ in range(2)]
    assert [entry["kind"] for entry in found] == ["proposed", "settled"] * 4
    assert [head.size for head in logs.heads()] == [6, 8]
    check_the_log()


async def test_nothing_new_makes_no_checkpoint(people: Cast) -> None:
    assert await sealing.seal() == sealing.Sealed()
    assert rows("SELECT * FROM ledger_keys") == []
    assert list(Path(settings.TOOLGATE_DATA_DIR).glob("ledger*")) == []
    await logs.write_calls(people.alice)
    await sealing.seal()
    before = rows("SELECT * FROM ledger_checkpoints")
    assert await sealing.seal() == sealing.Sealed(0, 2)
    assert rows("SELECT * FROM ledger_checkpoints") == before


async def test_an_entry_that_is_committed_late_is_sealed_late(people: Cast) -> None:
    async with transaction(people.alice.scope) as late:
        call = new_call(0, REFUSED)
        await recorder.propose(late, place(people.alice), [call], frozenset())
        await (await late.execute("SELECT 1")).fetchone()
        [early] = await logs.write_calls(people.bob)
        await sealing.seal()
        assert {entry["call_id"] for entry in logs.entries()} == {early}
    await sealing.seal()
    found = logs.entries()
    assert [entry["call_id"] for entry in found] == [early, early, call.id, call.id]
    assert found[2]["seq"] < found[0]["seq"]
    check_the_log()


async def test_entries_that_are_rolled_back_leave_no_gap_in_the_log(people: Cast) -> None:
    await logs.write_calls(people.alice)
    with pytest.raises(ZeroDivisionError):
        await _write_and_fail(people.alice)
    await logs.write_calls(people.alice)
    await sealing.seal()
    found = logs.entries()
    assert found[-1]["seq"] - found[0]["seq"] > len(found) - 1
    check_the_log()


async def _write_and_fail(person: Person) -> None:
    async with transaction(person.scope) as connection:
        await recorder.propose(connection, place(person), [new_call(0, REFUSED)], frozenset())
        raise ZeroDivisionError


async def test_more_than_a_batch_is_sealed_at_once(people: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "BATCH", 100)
    await logs.write_calls(people.alice, 200)
    assert await sealing.seal() == sealing.Sealed(400, 400)
    assert [head.size for head in logs.heads()] == [100, 200, 300, 400]
    check_the_log()


async def test_a_storm_of_writers_is_sealed_exactly_once(people: Cast, others: Cast) -> None:
    dice = random.Random(5)
    rounds, ended = [0], asyncio.Event()
    moved = asyncio.Condition()
    committed: set[object] = set()

    async def write(person: Person) -> None:
        for _ in range(12):
            calls = [new_call(position, REFUSED) for position in range(dice.randint(1, 3))]
            fails, stays = dice.random() < 0.1, dice.choice((0, 0, 1, 3))
            try:
                async with transaction(person.scope) as connection:
                    await recorder.propose(connection, place(person), calls, frozenset())
                    await (await connection.execute("SELECT 1")).fetchone()
                    target = rounds[0] + stays
                    async with moved:
                        await moved.wait_for(lambda target=target: rounds[0] >= target)  # type: ignore[misc]
                    if fails:
                        raise ZeroDivisionError
                committed.update(call.id for call in calls)
            except ZeroDivisionError:
                pass

    async def keep_sealing() -> None:
        while not ended.is_set():
            done = await asyncio.gather(sealing.seal(), sealing.seal())
            assert any(not each.busy for each in done)
            async with moved:
                rounds[0] += 1
                moved.notify_all()

    sealer = asyncio.create_task(keep_sealing())
    writers = [write(person) for person in (people.alice, people.bob, others.alice, others.bob)]
    writers += [write(people.alice) for _ in range(8)] + [write(others.bob) for _ in range(6)]
    await asyncio.gather(*writers)
    ended.set()
    await sealer
    await sealing.seal()
    found = logs.entries()
    assert {entry["call_id"] for entry in found} == committed
    assert len(found) == 2 * len(committed)
    assert any(one["seq"] > other["seq"] for one, other in itertools.pairwise(found))
    assert len(logs.heads()) > 5
    check_the_log()
    stored = logs.stored_tiles()
    heads = logs.heads()
    for place_of, old in enumerate(heads):
        for new in heads[place_of:]:
            proof = tiles.consistency_proof(old.size, new.size, stored)
            assert merkle.verify_consistency(old.size, old.root, new.size, new.root, proof)


async def test_who_comes_while_another_seals_leaves_it_to_them(people: Cast) -> None:
    await logs.write_calls(people.alice)
    with psycopg.connect(settings.DATABASE_URLS["system"]) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [sealing.LOCK])
        assert await sealing.seal() == sealing.Sealed(busy=True)
        assert logs.entries() == []
    assert (await sealing.seal()).entries == 2


async def test_a_round_costs_the_same_however_long_the_log_is(people: Cast) -> None:
    unsealed = (
        "INSERT INTO ledger_entries (tenant_id, kind, version, commitment)"
        f" SELECT '{people.id}', 'read', 3, decode(repeat('00', 32), 'hex') FROM generate_series(1, 20000)"
    )
    logs.as_owner(unsealed)
    # First as the table's statistics never see it later, with nothing sealed yet, then as they mostly are.
    for _ in range(2):
        logs.as_owner("ANALYZE ledger_entries")
        await sealing.seal()
        logs.as_owner("ANALYZE ledger_tiles", "ANALYZE ledger_checkpoints")
        before = _times_read_through()
        await logs.write_calls(people.alice)
        assert (await sealing.seal()).entries == 2
        assert (await sealing.seal()).entries == 0
        assert _times_read_through() == before


def _times_read_through() -> int:
    """How often the tables of the log were read from end to end, by anybody."""
    names = "('ledger_entries', 'ledger_tiles', 'ledger_checkpoints', 'tool_calls')"
    rows("SELECT pg_stat_force_next_flush()")
    return int(rows(f"SELECT sum(seq_scan) AS n FROM pg_stat_user_tables WHERE relname IN {names}")[0]["n"])


# --- cut at every point ----------------------------------------------------------------------------------------------
CUTS = ["checked_head", "_next_of_tenants", "read_tiles", "keep_tiles", "sign_head"]


class Cut(BaseException):
    """As when the process is killed."""


@pytest.mark.parametrize("point", CUTS)
async def test_a_seal_that_is_cut_before_its_commit_leaves_no_trace(
    people: Cast, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    await logs.write_calls(people.alice)
    await sealing.seal()
    await logs.write_calls(people.alice)
    before = (logs.entries(), logs.stored_tiles(), logs.heads(), _filed())
    done = getattr(sealing, point)

    async def cut(*values: Any) -> None:
        await done(*values)
        raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(sealing, point, cut)
        with pytest.raises(Cut):
            await sealing.seal()
    assert (logs.entries(), logs.stored_tiles(), logs.heads(), _filed()) == before
    assert await sealing.seal() == sealing.Sealed(2, 4)
    check_the_log()


async def test_a_head_whose_sealer_was_killed_after_the_commit_is_written_out_by_the_next(people: Cast) -> None:
    await logs.write_calls(people.alice)
    await sealing._seal_batch(9)
    assert not Path(settings.TOOLGATE_CHECKPOINT_FILE).exists()
    assert await sealing.seal() == sealing.Sealed(0, 2)
    assert _filed() == logs.heads()
    await logs.write_calls(people.alice)
    await sealing._seal_batch(9)
    assert len(_filed()) == 1
    await logs.write_calls(people.alice)
    await sealing.seal()
    check_the_log()


@pytest.mark.parametrize("kept", [0, 1, 20, 200])
async def test_a_line_that_was_cut_off_is_written_again(people: Cast, kept: int) -> None:
    for _ in range(2):
        await logs.write_calls(people.alice)
        await sealing.seal()
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    whole = file.read_bytes()
    first, second, _ = whole.split(b"\n")
    file.write_bytes(first + b"\n" + second[:kept])
    await sealing.seal()
    assert file.read_bytes() == whole
    check_the_log()


async def test_a_checkpoint_file_that_is_gone_is_made_again(people: Cast) -> None:
    for _ in range(3):
        await logs.write_calls(people.alice)
        await sealing.seal()
    Path(settings.TOOLGATE_CHECKPOINT_FILE).unlink()
    await sealing.seal()
    check_the_log()


# --- what is not the log that was signed -----------------------------------------------------------------------------
async def _refused(kind: type[SealingRefused], words: str) -> None:
    """Sealing says no in these words, and nothing is sealed or signed."""
    before = (rows("SELECT * FROM ledger_entries ORDER BY seq"), rows("SELECT * FROM ledger_checkpoints ORDER BY id"))
    with pytest.raises(kind, match=words):
        await sealing.seal()
    after = (rows("SELECT * FROM ledger_entries ORDER BY seq"), rows("SELECT * FROM ledger_checkpoints ORDER BY id"))
    assert after == before


async def _three_heads(people: Cast) -> None:
    for _ in range(3):
        await logs.write_calls(people.alice)
        await sealing.seal()


RESTORED = (
    "UPDATE ledger_entries SET leaf_index = NULL, tenant_index = NULL WHERE leaf_index >= 4",
    "DELETE FROM ledger_checkpoints WHERE size > 4",
    "UPDATE ledger_tiles SET hashes = substr(hashes, 1, 128) WHERE level = 0",
)


async def test_an_old_backup_that_was_restored_is_an_alarm_and_nothing_is_signed(people: Cast) -> None:
    await _three_heads(people)
    logs.as_owner(*RESTORED, "DELETE FROM ledger_entries WHERE leaf_index IS NULL")
    await _refused(LogDiffers, "the checkpoint file is ahead of the database, at size 6 and not 4")
    await logs.write_calls(people.alice)
    await _refused(LogDiffers, "ahead of the database")


async def test_another_history_of_the_same_length_is_an_alarm(people: Cast) -> None:
    await _three_heads(people)
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index(b"\n") + 1])
    first = logs.heads()[0]
    logs.as_owner(*(statement.replace("4", "2").replace("128", "64") for statement in RESTORED))
    logs.as_owner("UPDATE ledger_entries SET commitment = decode(repeat('00', 32), 'hex') WHERE leaf_index IS NULL")
    await sealing.seal()
    assert logs.heads()[0] == first
    file.write_bytes(whole)
    await _refused(LogDiffers, "differ about size 6")


TAMPERED = {
    "UPDATE ledger_tiles SET hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1)": "tiles do not have the root",
    "DELETE FROM ledger_tiles": "tiles do not have the root",
    "UPDATE ledger_tiles SET hashes = hashes || decode(repeat('00', 32), 'hex')": "cannot grow",
    "UPDATE ledger_checkpoints SET root = set_byte(root, 1, get_byte(root, 1) # 1)": "not what was signed",
    "UPDATE ledger_checkpoints SET size = size + 1": "not what was signed",
    "UPDATE ledger_checkpoints SET note = replace(note, E'\\n6\\n', E'\\n7\\n')": "not this log's",
    "UPDATE ledger_checkpoints SET note = ''": "not this log's",
    "DELETE FROM ledger_checkpoints WHERE size = 6": "beyond its last checkpoint, of size 4",
    "DELETE FROM ledger_checkpoints": "beyond its last checkpoint, of size 0",
    "UPDATE ledger_entries SET leaf_index = 6, tenant_index = 6 WHERE leaf_index = 5": "beyond its last checkpoint",
}


@pytest.mark.parametrize("change", TAMPERED)
async def test_a_log_that_was_changed_is_not_gone_on_with(people: Cast, change: str) -> None:
    await _three_heads(people)
    await logs.write_calls(people.alice)
    logs.as_owner(change)
    await _refused(LogDiffers, TAMPERED[change])


@pytest.mark.parametrize("last", [b"nonsense\n", b"{}\n", b'{"note": 5}\n', b'{"note": "x"}\n'])
async def test_a_checkpoint_file_that_is_something_else_is_an_alarm(people: Cast, last: bytes) -> None:
    await _three_heads(people)
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    file.write_bytes(file.read_bytes() + last)
    await _refused(LogDiffers, "no checkpoint|not this log's")


async def test_a_checkpoint_file_that_cannot_be_written_is_an_alarm_and_nothing_is_lost(people: Cast) -> None:
    await _three_heads(people)
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    whole = file.read_bytes()
    file.unlink()
    file.mkdir()
    await logs.write_calls(people.alice)
    await _refused(SealingRefused, "checkpoints.jsonl cannot be read or written: Is a directory")
    file.rmdir()
    assert (await sealing.seal()).entries == 2
    assert file.read_bytes().startswith(whole)
    check_the_log()


# --- keys ------------------------------------------------------------------------------------------------------------
def _key() -> str:
    return keys.private_path().read_text().strip()


async def test_the_first_seal_makes_a_key_that_its_owner_alone_may_read(people: Cast) -> None:
    await logs.write_calls(people.alice)
    await sealing.seal()
    assert keys.private_path().stat().st_mode & 0o777 == 0o600
    vkey = Signer.from_text(_key()).verifier.to_text()
    assert keys.public_path().read_text() == f"{vkey}\n"
    assert rows("SELECT vkey, origin, endorsement FROM ledger_keys") == [
        {"vkey": vkey, "origin": vkey.partition("+")[0], "endorsement": None}
    ]
    assert _key() not in str(rows("SELECT * FROM ledger_keys, ledger_checkpoints"))


async def test_a_foreign_key_seals_nothing(people: Cast) -> None:
    await _three_heads(people)
    own = _key()
    foreign = Signer.generate(logs.verifiers()[0].name)
    keys.private_path().write_text(foreign.to_text())
    await logs.write_calls(people.alice)
    await _refused(WrongSigningKey, "the log is signed with")
    assert foreign.verifier.to_text() not in keys.public_path().read_text()
    keys.private_path().write_text(own)
    assert (await sealing.seal()).entries == 2


@pytest.mark.parametrize("content", [None, "", "nonsense", "PRIVATE+KEY+x+00000000+AAAA"])
async def test_a_key_that_is_lost_or_garbled_is_not_made_anew(people: Cast, content: str | None) -> None:
    await _three_heads(people)
    if content is None:
        keys.private_path().unlink()
    else:
        keys.private_path().write_text(content)
    await logs.write_calls(people.alice)
    await _refused(WrongSigningKey, "is missing|is no signing key")


async def test_a_head_signed_with_a_key_that_only_the_database_knows_is_an_alarm(people: Cast) -> None:
    await _three_heads(people)
    forger = Signer.generate(logs.verifiers()[0].name)
    head = logs.heads()[-1]
    note = sealing.sign(Checkpoint(head.origin, head.size, head.root).text(), forger)
    logs.as_owner(
        f"UPDATE ledger_checkpoints SET note = '{note}' WHERE size = {head.size}",
        f"INSERT INTO ledger_keys (vkey, origin, reason) SELECT '{forger.verifier.to_text()}', origin, reason"
        " FROM ledger_keys",
        "UPDATE ledger_keys SET id = 10 - id",
    )
    await _refused(LogDiffers, "no known key")


async def test_the_operators_own_key_seals(people: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Signer.generate("example.com/log")
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", given.to_text())
    await _three_heads(people)
    assert not keys.private_path().exists()
    assert logs.verifiers() == [given.verifier]
    assert logs.heads()[-1].origin == "example.com/log"
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", "nonsense")
    await logs.write_calls(people.alice)
    await _refused(WrongSigningKey, "TOOLGATE_LEDGER_KEY is no signing key")


async def test_a_rotated_key_goes_on_with_the_log_and_is_endorsed_by_the_old_one(people: Cast) -> None:
    await _three_heads(people)
    old = Signer.from_text(_key())
    changed = await rotation.rotate()
    new = Signer.from_text(_key())
    assert (changed.vkey, changed.size, changed.private) == (new.verifier.to_text(), 6, None)
    assert old.to_text() not in "".join(file.read_text() for file in Path(settings.TOOLGATE_DATA_DIR).glob("*"))
    [_, row] = rows("SELECT * FROM ledger_keys ORDER BY id")
    assert row["vkey"] == changed.vkey
    endorsed = open_note(row["endorsement"], [old.verifier])
    assert endorsed == f"toolgate key rotation\n{changed.vkey}\n6\n"
    assert await sealing.seal() == sealing.Sealed(0, 6)
    await logs.write_calls(people.alice)
    assert (await sealing.seal()).entries == 2
    [last] = rows("SELECT note FROM ledger_checkpoints ORDER BY id DESC LIMIT 1")
    assert open_note(last["note"], [new.verifier])
    assert {head.origin for head in logs.heads()} == {old.verifier.name}
    check_the_log()


@pytest.mark.parametrize("committed", [False, True])
async def test_a_rotation_that_is_cut_leaves_the_key_that_the_database_names(
    people: Cast, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    await _three_heads(people)

    def cut(*values: Any) -> None:
        raise Cut

    with monkeypatch.context() as patch:
        if committed:
            patch.setattr(rotation, "_taken", cut)
        else:
            take = rotation._take
            patch.setattr(rotation, "_take", lambda new: cut(take(new)))
        with pytest.raises(Cut):
            await rotation.rotate()
    assert keys.next_path().exists()
    assert len(logs.verifiers()) == 1 + committed
    await logs.write_calls(people.alice)
    assert (await sealing.seal()).entries == 2
    assert logs.verifiers()[-1] == Signer.from_text(_key()).verifier
    check_the_log()


async def test_a_key_that_the_operator_keeps_is_shown_to_them_and_sealing_waits_for_it(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Signer.generate("example.com/log")
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", given.to_text())
    await _three_heads(people)
    changed = await rotation.rotate()
    assert changed.private is not None
    await logs.write_calls(people.alice)
    await _refused(WrongSigningKey, "the log is signed with")
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", changed.private)
    assert (await sealing.seal()).entries == 2
    check_the_log()


async def test_no_key_is_rotated_while_the_log_is_in_doubt(people: Cast) -> None:
    await _three_heads(people)
    logs.as_owner(*RESTORED)
    with pytest.raises(LogDiffers):
        await rotation.rotate()
    assert len(logs.verifiers()) == 1


# --- a new log -------------------------------------------------------------------------------------------------------
async def test_a_new_log_goes_on_with_what_was_restored(people: Cast) -> None:
    await _three_heads(people)
    old, filed = logs.heads(), Path(settings.TOOLGATE_CHECKPOINT_FILE).read_bytes()
    logs.as_owner(*RESTORED)
    changed = await rotation.begin_new_log("The disk was lost.")
    assert changed.aside is not None
    assert changed.aside.read_bytes() == filed
    assert await sealing.seal() == sealing.Sealed(2, 6)
    found = logs.heads()
    assert [(head.size, head.origin == old[0].origin) for head in found] == [
        (2, True),
        (4, True),
        (4, False),
        (6, False),
    ]
    assert found[2].root == found[1].root
    [_, key] = rows("SELECT * FROM ledger_keys ORDER BY id")
    assert (key["reason"], key["endorsement"], key["origin"]) == ("The disk was lost.", None, found[-1].origin)
    assert _filed() == found[2:]
    hashes = [leaf_hash(entry) for entry in logs.entries()]
    assert found[-1].root == merkle.root(hashes)


async def test_a_new_log_makes_tiles_again_that_were_spoiled(people: Cast) -> None:
    await _three_heads(people)
    good = logs.stored_tiles()
    logs.as_owner("UPDATE ledger_tiles SET hashes = set_byte(hashes, 40, 0)")
    await rotation.begin_new_log("The tiles were spoiled.")
    assert logs.stored_tiles() == good
    await logs.write_calls(people.alice)
    await sealing.seal()
    assert logs.heads()[-1].size == 8


async def test_no_new_log_is_begun_over_entries_that_are_missing(people: Cast) -> None:
    await _three_heads(people)
    logs.as_owner("DELETE FROM ledger_tiles", "DELETE FROM ledger_entries WHERE leaf_index = 3")
    with pytest.raises(LogDiffers, match="entries are missing between 0 and 6"):
        await rotation.begin_new_log("x")
    assert len(logs.verifiers()) == 1


async def test_an_empty_database_beside_an_old_checkpoint_file_begins_a_new_log(people: Cast) -> None:
    Path(settings.TOOLGATE_CHECKPOINT_FILE).write_bytes(
        checkpoints.record(rows("SELECT now()")[0]["now"], sealing.sign("x/y\n5\nAAAA\n", Signer.generate("x/y")))
        + b"\n"
    )
    await logs.write_calls(people.alice)
    with pytest.raises(LogDiffers):
        await sealing.seal()
    await rotation.begin_new_log("Begun afresh.")
    assert (await sealing.seal()).entries == 2
    check_the_log()


def test_the_public_keys_that_are_trusted_are_those_of_the_file_and_not_of_the_database() -> None:
    own, other = Signer.generate("toolgate/1"), Signer.generate("toolgate/1")
    assert keys.known(own) == [own.verifier]
    keys.publish(other.verifier)
    assert keys.known(own) == [own.verifier, other.verifier]
    keys.public_path().write_text("nonsense\n")
    with pytest.raises(WrongSigningKey):
        keys.known(own)
    assert isinstance(Verifier.from_text(own.verifier.to_text()), Verifier)
