"""What an operator says to the log, as they say it: `manage.py audit …`."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from audit.log import keys
from audit.log.notes import Signer
from tests import processes
from tests.audit import logs
from tests.database import rows
from tests.people import Cast
from tests.stack import ROOT


def _audit(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return processes.run(
        [sys.executable, "manage.py", "audit", *words],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


async def test_the_public_keys_are_printed_oldest_first(people: Cast) -> None:
    empty = _audit("public-key")
    assert (empty.returncode, empty.stdout) == (1, "")
    await logs.write_calls(people.alice)
    await logs.seal()
    rotated = _audit("rotate-key")
    assert rotated.returncode == 0
    assert rotated.stdout.strip() == Signer.from_text(keys.private_path().read_text().strip()).verifier.to_text()
    assert "from entry 2 on" in rotated.stderr
    printed = _audit("public-key")
    assert printed.stdout.split() == [verifier.to_text() for verifier in logs.verifiers()]
    assert printed.stdout.split()[1] == rotated.stdout.strip()
    await logs.write_calls(people.alice)
    assert (await logs.seal()).entries == 2


async def test_a_key_that_the_operator_keeps_is_printed_once_when_it_is_rotated(people: Cast) -> None:
    given = Signer.generate("example.com/log").to_text()
    done = _audit("rotate-key", TOOLGATE_LEDGER_KEY=given)
    private, public = done.stdout.split()
    assert Signer.from_text(private).verifier.to_text() == public
    assert "until then nothing is sealed" in done.stderr
    again = _audit("rotate-key", TOOLGATE_LEDGER_KEY=given)
    assert (again.returncode, again.stdout) == (1, "")
    assert "the log is signed with" in again.stderr
    assert given not in again.stderr
    assert not keys.private_path().exists()


async def test_a_new_log_wants_a_reason_and_keeps_it(people: Cast) -> None:
    await logs.write_calls(people.alice)
    await logs.seal()
    assert _audit("begin-new-log").returncode == 2
    assert _audit("begin-new-log", "--reason", " ").returncode == 1
    assert len(logs.verifiers()) == 1
    done = _audit("begin-new-log", "--reason", "The disk was lost.")
    assert done.returncode == 0
    assert [row["reason"] for row in rows("SELECT reason FROM ledger_keys ORDER BY id")] == ["", "The disk was lost."]
    [aside] = Path(settings.TOOLGATE_DATA_DIR).glob("checkpoints-until-*.jsonl")
    assert str(aside) in done.stderr
    await logs.write_calls(people.alice)
    assert await logs.seal() == logs.sealing.Sealed(2, 4)
