"""`manage.py audit erase`: it asks, erases, and says what went."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

from tests import processes
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack

ROOT = Path(__file__).resolve().parent.parent.parent
NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'


def _run(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "audit", "erase", *arguments]
    return processes.run(command, cwd=ROOT, env=os.environ, input=said, capture_output=True, text=True)


def _gone(tenant: Cast) -> list[bool]:
    found = rows("SELECT row_key IS NULL AS gone FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    return [row["gone"] for row in found]


def test_a_call_a_conversation_and_a_user_are_erased_by_command(stack: Stack, tenant: Cast) -> None:
    runs = [stack.chat(tenant.alice, NOTE).json() for _ in range(3)]
    whose = ("--tenant", tenant.slug)
    asked = _run(*whose, "--call", runs[0]["tool_calls"][0]["id"], said="n\n")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr.endswith("for good? [y/N] Nothing was erased.\n")
    assert _gone(tenant) == [False] * 3
    done = _run(*whose, "--call", runs[0]["tool_calls"][0]["id"], "--reason", "A slip.", said="y\n")
    assert (done.returncode, done.stdout) == (0, "calls: 1\nconversations: 0\n"), done.stderr
    done = _run(*whose, "--conversation", runs[1]["conversation_id"], "--yes")
    assert (done.returncode, done.stdout) == (0, "calls: 1\nconversations: 1\n"), done.stderr
    done = _run(*whose, "--user", tenant.alice.username, "--yes")
    assert (done.returncode, done.stdout) == (0, "calls: 1\nconversations: 2\n"), done.stderr
    assert _gone(tenant) == [True] * 3
    erasures = rows("SELECT scope, actor_id, reason FROM erasures WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [tuple(row.values()) for row in erasures] == [
        ("call", None, "A slip."), ("conversation", None, ""), ("user", None, ""),
    ]  # fmt: skip


def test_what_is_not_there_is_said_in_a_line(tenant: Cast, other_tenant: Cast) -> None:
    for arguments, said in (
        (("--tenant", "nowhere", "--user", "x"), "There is no tenant nowhere."),
        (("--tenant", tenant.slug, "--user", "nobody-at-all"), "There is no user nobody-at-all."),
        (("--tenant", tenant.slug, "--user", other_tenant.alice.username), "There is no user "),
        (("--tenant", tenant.slug, "--call", str(uuid.uuid4())), "There is no call "),
        (("--tenant", tenant.slug, "--call", str(uuid.uuid4()), "--reason", "x" * 2001), "reason may have"),
    ):
        refused = _run(*arguments, "--yes")
        assert refused.returncode == 1 and refused.stdout == ""
        assert said in refused.stderr and "Traceback" not in refused.stderr
