"""What the running processes hold."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gateway.process import environment
from tests import processes
from tests.stack import Stack


def _environment(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\x00")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def test_web_and_worker_never_hold_the_owners_login() -> None:
    owner = os.environ["DATABASE_OWNER_URL"]
    password = unquote(urlsplit(owner).password or "")
    assert password
    with Stack(popen=subprocess.Popen) as stack:
        for name in ("web", "worker"):
            environment = _environment(stack.processes[name].pid)
            assert environment["TOOLGATE_PROCESS"] == name
            assert "DATABASE_OWNER_URL" not in environment
            assert [key for key, value in environment.items() if owner in value or password in value] == []


def test_web_knows_no_owner_even_when_one_is_given() -> None:
    assert environment.text("DATABASE_OWNER_URL")
    command = (
        "import django; django.setup(); from django.conf import settings; "
        "print(sorted(settings.DATABASES), sorted(settings.DATABASE_URLS))"
    )
    for process in ("web", "worker", "beat"):
        found = processes.run(
            [sys.executable, "-c", command],
            env=os.environ | {"TOOLGATE_PROCESS": process},
            capture_output=True,
            text=True,
        )
        assert found.stdout.strip() == (
            "['default', 'export', 'operator', 'system'] ['default', 'operator', 'system']"
        ), found.stderr
