"""What the tests lean on does what they take for granted."""

import asyncio
import os
import re
import signal
import smtplib
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import hypothesis
import pytest
from django.conf import settings

from tests import hanging, processes, waiting
from tests.database import rows
from tests.people import Cast
from tests.smtp import MailServer
from tests.stack import free_port


@contextmanager
def _client(server: MailServer) -> Iterator[smtplib.SMTP]:
    connection = smtplib.SMTP("127.0.0.1", server.port, timeout=waiting.PATIENCE_SECONDS)
    connection.ehlo()
    yield connection
    connection.close()


def test_a_client_of_the_mail_server_that_says_goodbye_ends_nobody_elses_conversation() -> None:
    with MailServer() as server, _client(server) as first, _client(server) as second:
        server.hang = "MAIL"
        first.putcmd("MAIL", "FROM:<gate@example.com>")
        assert server.reached.wait(waiting.PATIENCE_SECONDS)
        assert second.quit()[0] == 221
        server.released.set()
        assert first.getreply()[0] == 250
        assert first.rcpt("bob@example.com")[0] == 250
        assert first.data("Subject: Hello\n\nHi Bob")[0] == 250
        assert [received.recipients for received in server.received] == [["bob@example.com"]]


def test_nothing_ends_a_run_that_a_test_holds_before_the_tests_own_time_is_over(
    request: pytest.FixtureRequest, tenant: Cast
) -> None:
    longest = float(request.config.getini("timeout"))
    [agent] = rows("SELECT max_seconds FROM agents WHERE tenant_id = %(t)s", t=tenant.id)
    assert agent["max_seconds"] > longest
    # What the web processes and workers of the tests are started with, too.
    assert settings.PROVIDER_IDLE_SECONDS == int(os.environ["PROVIDER_IDLE_SECONDS"]) > longest


def test_a_free_port_stays_free_for_whoever_asked_for_it() -> None:
    port = free_port()
    # Nobody else is given it by the kernel, and nobody takes it without SO_REUSEADDR.
    with socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", port))
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        with socket.create_connection(("127.0.0.1", port)):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_what_hypothesis_tries_is_the_same_in_each_run_and_is_not_timed() -> None:
    usual = hypothesis.settings()
    assert (usual.derandomize, usual.deadline) == (True, None)


def test_a_request_without_a_time_limit_of_its_own_is_waited_for() -> None:
    with httpx.Client() as client:
        assert client.timeout == httpx.Timeout(waiting.PATIENCE_SECONDS)


def test_waiting_ends_with_what_was_found_or_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([[], [], ["row"]])
    assert waiting.until(lambda: next(answers)) == ["row"]
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(TimeoutError, match=r"nothing after 0 s; the log"):
        waiting.until(lambda: False, lambda: "the log")


LOOK = """
import os, sys
print(sys.argv, os.getcwd(), os.getppid(), os.environ.get("WHO"), os.environ.get("HOME"), os.getsid(0) == os.getpid())
print(input())
print("django.core.management" in sys.modules, [each for each in sys.modules if each.startswith("gateway")])
sys.exit(sys.stdin.read() or 3)
"""


def test_a_forked_process_is_what_a_started_one_is(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOOK, "a", "b c"]
    options = {
        "cwd": tmp_path,
        "env": {name: os.environ[name] for name in os.environ if name.startswith("PYTHON")} | {"WHO": "é"},
        "start_new_session": True,
        "capture_output": True,
        "text": True,
    }
    for said in ("first\n", "first\nrest"):
        started = subprocess.run(command, input=said, check=False, **options)  # type: ignore[call-overload]
        forked = processes.run(command, input=said, **options)
        shown = f"['-c', 'a', 'b c'] {tmp_path} {os.getpid()} é None True\nfirst\n"
        assert started.stdout == shown + "False []\n"
        assert forked.stdout == shown + "True []\n"
        assert (started.returncode, started.stderr) == (forked.returncode, forked.stderr)


@pytest.mark.parametrize("what", [["-m", "uuid_of_nothing"], ["-c", "1 / 0"], ["-c", "import sys; sys.exit('no')"]])
def test_a_forked_process_fails_as_a_started_one(what: list[str]) -> None:
    forked = processes.run([sys.executable, *what], capture_output=True, text=True)
    started = subprocess.run([sys.executable, *what], capture_output=True, text=True, check=False)
    assert bool(forked.returncode) is bool(started.returncode) is True
    assert forked.stderr.splitlines()[-1].rpartition(": ")[2] == started.stderr.splitlines()[-1].rpartition(": ")[2]


def test_a_forked_process_is_a_child_that_signals_end() -> None:
    # A signal between `ready` and one long wait would be heeded after that: Python looks when it is back.
    waits = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.05)"
    command = [sys.executable, "-c", waits]
    for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
        with processes.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as one:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
            assert one.poll() is None
            os.killpg(one.pid, how)
            assert one.wait(waiting.PATIENCE_SECONDS) == -how


def test_what_only_the_interpreter_heeds_starts_it() -> None:
    look = "import sys; print('django' in sys.modules)"
    for command, environment in ((["-I", "-c", look], {}), (["-c", look], {"PYTHONHASHSEED": "0"})):
        found = processes.run([sys.executable, *command], env=os.environ | environment, stdout=subprocess.PIPE)
        assert found.stdout == b"False\n"


@pytest.mark.parametrize(
    ("kind", "environment", "prepared"),
    [
        ("command", {}, True),
        ("web", {"PUBLIC_URL": "https://gate.example", "DATABASE_POOL_SIZE": "7"}, True),
        # The URL configuration has read the first, the tools the second.
        ("web", {"TOOLGATE_MAX_BODY_BYTES": "70000"}, False),
        ("worker", {"BRAVE_API_KEY": "key"}, False),
        ("command", {"PUBLIC_URL": "nowhere"}, False),
    ],
)
def test_a_prepared_process_has_the_settings_of_its_environment(
    kind: str, environment: dict[str, str], prepared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked: list[bool] = []
    fork = processes._Parent.fork

    def noted(parent: processes._Parent, descriptors: list[int], request: dict[str, object]) -> int:
        forked.append(bool(pid := fork(parent, descriptors, request)))
        return pid

    def printed(done: subprocess.CompletedProcess[str]) -> tuple[int, str, list[str]]:
        return done.returncode, re.sub("0x[0-9a-f]+", "", done.stdout), done.stderr.splitlines()[-1:]

    options = {"cwd": processes.ROOT, "capture_output": True, "text": True}
    options["env"] = os.environ | {"TOOLGATE_PROCESS": kind} | environment
    command = [sys.executable, "manage.py", "diffsettings"]
    processes._prepared(kind, os.environ.get("PYTHONPATH", ""))
    with monkeypatch.context() as patched:
        patched.setattr(processes, "is_prepared", lambda *_: False)
        usual = processes.run(command, **options)
    monkeypatch.setattr(processes._Parent, "fork", noted)
    assert printed(processes.run(command, **options)) == printed(usual)
    assert forked == ([True] if prepared else [False, True])


def test_a_parent_that_does_not_answer_is_asked_no_more() -> None:
    silent: list[socket.socket] = []
    parent = processes._Parent(lambda answering: silent.append(answering.dup()))
    parent._asking.settimeout(0.01)
    request = {"run": ["-c", ""]}
    assert parent.fork([0, 1, 2], request) == 0
    with pytest.raises(BrokenPipeError):
        silent[0].sendall(b"1")
    assert parent.fork([0, 1, 2], request) == 0
    silent[0].close()


IMPATIENT = """
from tests import hanging
from tests.hanging import pytest_runtest_teardown, pytest_timeout_set_timer

hanging.TEARDOWN_SECONDS = hanging.AGAIN_SECONDS = 1.5
"""
HANGS = """
import threading
import pytest

@pytest.fixture
def first():
    yield
    threading.Event().wait()

@pytest.fixture
def second(first):
    yield
    threading.Event().wait()

def test_fails(second):
    assert False

def test_passes(second):
    pass
"""


def test_a_teardown_that_hangs_fails_and_ends(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(IMPATIENT)
    (tmp_path / "test_it.py").write_text(HANGS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:warnings", "--rootdir", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(processes.ROOT)}
    done = processes.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("1 failed, 1 passed, 2 errors")
    assert "the teardown of test_it.py::test_fails hangs" in done.stdout


WAITS = """
import asyncio
import pytest_asyncio

async def its_last_words():
    await asyncio.Event().wait()

@pytest_asyncio.fixture
async def talking():
    yield
    await its_last_words()

async def test_talks(talking):
    pass
"""
LISTENS = """
import asyncio

async def its_stream():
    await asyncio.Event().wait()

async def test_listens():
    await asyncio.wait([asyncio.ensure_future(its_stream())])
"""


def test_a_teardown_that_hangs_says_what_it_waits_for(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(IMPATIENT)
    (tmp_path / "test_it.py").write_text(WAITS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:warnings", "-o", "asyncio_mode=auto"]
    environment = os.environ | {"PYTHONPATH": str(processes.ROOT)}
    done = processes.run([*command, "--rootdir", str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True)
    said = (done.stdout + done.stderr).decode()
    assert re.search(r"line 11 in talking\n.*line 6 in its_last_words\n.*in wait\n", said), said


def test_a_test_that_hangs_says_what_its_tasks_wait_for(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(IMPATIENT)
    (tmp_path / "test_it.py").write_text(LISTENS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:warnings", "-o", "asyncio_mode=auto", "--timeout", "2"]
    environment = os.environ | {"PYTHONPATH": str(processes.ROOT)}
    done = processes.run([*command, "--rootdir", str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True)
    said = done.stdout.decode()
    assert re.search(r"line 8 in test_listens\n", said), said
    assert re.search(r"line 5 in its_stream\n.*in wait\n", said), said
    assert "Failed: Timeout" in said


def test_a_task_that_goes_on_when_it_is_cancelled_does_not_keep_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hanging, "CANCEL_SECONDS", 0.1)
    cancelled = []

    async def stubborn() -> None:
        for _ in range(2):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(True)

    async def begin() -> None:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        assert not task.done()

    asyncio.run(begin())
    assert len(cancelled) == 2


def test_every_test_module_has_tests() -> None:
    modules = list(Path(__file__).parent.rglob("test_*.py"))
    assert len(modules) > 200
    assert [file.name for file in modules if "def test_" not in file.read_text()] == []


def test_rows_without_an_order_are_in_none_that_a_test_could_rely_on() -> None:
    query = "SELECT n FROM generate_series(1, 3) AS n"
    assert [row["n"] for row in rows(query)] == [3, 2, 1]
    assert [row["n"] for row in rows(f"{query} ORDER BY n")] == [1, 2, 3]
