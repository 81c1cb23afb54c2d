"""What the log is signed with: one key, made once, changed on request, and never another."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from audit.log import keys, rotation, sealing
from audit.log.errors import LogDiffers, WrongSigningKey
from audit.log.notes import Checkpoint, Signer, Verifier, open_note
from tests.audit import logs
from tests.database import rows
from tests.people import Cast


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
    await logs.three_heads(people)
    own = _key()
    foreign = Signer.generate(logs.verifiers()[0].name)
    keys.private_path().write_text(foreign.to_text())
    await logs.write_calls(people.alice)
    await logs.refused(WrongSigningKey, "the log is signed with")
    assert foreign.verifier.to_text() not in keys.public_path().read_text()
    keys.private_path().write_text(own)
    assert (await sealing.seal()).entries == 2


@pytest.mark.parametrize("content", [None, "", "nonsense", "PRIVATE+KEY+x+00000000+AAAA"])
async def test_a_key_that_is_lost_or_garbled_is_not_made_anew(people: Cast, content: str | None) -> None:
    await logs.three_heads(people)
    if content is None:
        keys.private_path().unlink()
    else:
        keys.private_path().write_text(content)
    await logs.write_calls(people.alice)
    await logs.refused(WrongSigningKey, "is missing|is no signing key")


async def test_a_head_signed_with_a_key_that_only_the_database_knows_is_an_alarm(people: Cast) -> None:
    await logs.three_heads(people)
    forger = Signer.generate(logs.verifiers()[0].name)
    head = logs.heads()[-1]
    note = sealing.sign(Checkpoint(head.origin, head.size, head.root).text(), forger)
    logs.as_owner(
        f"UPDATE ledger_checkpoints SET note = '{note}' WHERE size = {head.size}",
        f"INSERT INTO ledger_keys (vkey, origin, reason) SELECT '{forger.verifier.to_text()}', origin, reason"
        " FROM ledger_keys",
        "UPDATE ledger_keys SET id = 10 - id",
    )
    await logs.refused(LogDiffers, "no known key")


async def test_the_operators_own_key_seals(people: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Signer.generate("example.com/log")
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", given.to_text())
    await logs.three_heads(people)
    assert not keys.private_path().exists()
    assert logs.verifiers() == [given.verifier]
    assert logs.heads()[-1].origin == "example.com/log"
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", "nonsense")
    await logs.write_calls(people.alice)
    await logs.refused(WrongSigningKey, "TOOLGATE_LEDGER_KEY is no signing key")


async def test_a_rotated_key_goes_on_with_the_log_and_is_endorsed_by_the_old_one(people: Cast) -> None:
    await logs.three_heads(people)
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
    logs.check()


@pytest.mark.parametrize("committed", [False, True])
async def test_a_rotation_that_is_cut_leaves_the_key_that_the_database_names(
    people: Cast, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    await logs.three_heads(people)

    def cut(*values: Any) -> None:
        raise logs.Cut

    with monkeypatch.context() as patch:
        if committed:
            patch.setattr(rotation, "_taken", cut)
        else:
            take = rotation._take
            patch.setattr(rotation, "_take", lambda new: cut(take(new)))
        with pytest.raises(logs.Cut):
            await rotation.rotate()
    assert keys.next_path().exists()
    assert len(logs.verifiers()) == 1 + committed
    await logs.write_calls(people.alice)
    assert (await sealing.seal()).entries == 2
    assert logs.verifiers()[-1] == Signer.from_text(_key()).verifier
    logs.check()


async def test_a_key_that_the_operator_keeps_is_shown_to_them_and_sealing_waits_for_it(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Signer.generate("example.com/log")
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", given.to_text())
    await logs.three_heads(people)
    changed = await rotation.rotate()
    assert changed.private is not None
    await logs.write_calls(people.alice)
    await logs.refused(WrongSigningKey, "the log is signed with")
    monkeypatch.setenv("TOOLGATE_LEDGER_KEY", changed.private)
    assert (await sealing.seal()).entries == 2
    logs.check()


async def test_no_key_is_rotated_while_the_log_is_in_doubt(people: Cast) -> None:
    await logs.three_heads(people)
    logs.as_owner(*logs.RESTORED)
    with pytest.raises(LogDiffers):
        await rotation.rotate()
    assert len(logs.verifiers()) == 1


def test_the_public_keys_that_are_trusted_are_those_of_the_file_and_not_of_the_database() -> None:
    own, other = Signer.generate("toolgate/1"), Signer.generate("toolgate/1")
    assert keys.known(own) == [own.verifier]
    keys.publish(other.verifier)
    assert keys.known(own) == [own.verifier, other.verifier]
    keys.public_path().write_text("nonsense\n")
    with pytest.raises(WrongSigningKey):
        keys.known(own)
    assert isinstance(Verifier.from_text(own.verifier.to_text()), Verifier)
