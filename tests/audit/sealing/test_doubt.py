"""What is not the log that was signed is not gone on with, until a new one is begun."""

from pathlib import Path

import pytest
from django.conf import settings

from audit.log import checkpoints, merkle, rotation, sealing
from audit.log.errors import LogDiffers, SealingRefused
from audit.log.leaves import leaf_hash
from audit.log.notes import Signer
from tests.audit import logs
from tests.database import rows
from tests.people import Cast


async def test_an_old_backup_that_was_restored_is_an_alarm_and_nothing_is_signed(people: Cast) -> None:
    await logs.three_heads(people)
    logs.as_owner(*logs.RESTORED, "DELETE FROM ledger_entries WHERE leaf_index IS NULL")
    await logs.refused(LogDiffers, "the checkpoint file is ahead of the database, at size 6 and not 4")
    await logs.write_calls(people.alice)
    await logs.refused(LogDiffers, "ahead of the database")


async def test_another_history_of_the_same_length_is_an_alarm(people: Cast) -> None:
    await logs.three_heads(people)
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index(b"\n") + 1])
    first = logs.heads()[0]
    logs.as_owner(*(statement.replace("4", "2").replace("128", "64") for statement in logs.RESTORED))
    logs.as_owner("UPDATE ledger_entries SET commitment = decode(repeat('00', 32), 'hex') WHERE leaf_index IS NULL")
    await sealing.seal()
    assert logs.heads()[0] == first
    file.write_bytes(whole)
    await logs.refused(LogDiffers, "differ about size 6")


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
    await logs.three_heads(people)
    await logs.write_calls(people.alice)
    logs.as_owner(change)
    await logs.refused(LogDiffers, TAMPERED[change])


@pytest.mark.parametrize("last", [b"nonsense\n", b"{}\n", b'{"note": 5}\n', b'{"note": "x"}\n'])
async def test_a_checkpoint_file_that_is_something_else_is_an_alarm(people: Cast, last: bytes) -> None:
    await logs.three_heads(people)
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    file.write_bytes(file.read_bytes() + last)
    await logs.refused(LogDiffers, "no checkpoint|not this log's")


async def test_a_checkpoint_file_that_cannot_be_written_is_an_alarm_and_nothing_is_lost(people: Cast) -> None:
    await logs.three_heads(people)
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    whole = file.read_bytes()
    file.unlink()
    file.mkdir()
    await logs.write_calls(people.alice)
    await logs.refused(SealingRefused, "checkpoints.jsonl cannot be read or written: Is a directory")
    file.rmdir()
    assert (await sealing.seal()).entries == 2
    assert file.read_bytes().startswith(whole)
    logs.check()


# --- a new log -------------------------------------------------------------------------------------------------------
async def test_a_new_log_goes_on_with_what_was_restored(people: Cast) -> None:
    await logs.three_heads(people)
    old, filed = logs.heads(), Path(settings.TOOLGATE_CHECKPOINT_FILE).read_bytes()
    logs.as_owner(*logs.RESTORED)
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
    assert logs.filed() == found[2:]
    hashes = [leaf_hash(entry) for entry in logs.entries()]
    assert found[-1].root == merkle.root(hashes)


async def test_a_new_log_makes_tiles_again_that_were_spoiled(people: Cast) -> None:
    await logs.three_heads(people)
    good = logs.stored_tiles()
    logs.as_owner("UPDATE ledger_tiles SET hashes = set_byte(hashes, 40, 0)")
    await rotation.begin_new_log("The tiles were spoiled.")
    assert logs.stored_tiles() == good
    await logs.write_calls(people.alice)
    await sealing.seal()
    assert logs.heads()[-1].size == 8


async def test_no_new_log_is_begun_over_entries_that_are_missing(people: Cast) -> None:
    await logs.three_heads(people)
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
    logs.check()
