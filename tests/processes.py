"""Python processes for tests, forked from one that has imported the libraries: most of a start is imports."""

import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parent.parent
FORKS = Path(__file__).with_name("forks.py")
_PR_SET_CHILD_SUBREAPER = 36
# A fork is of an interpreter that has been configured already; the path alone can be added to.
_CONFIGURED = "PYTHON"
_ADDED = "PYTHONPATH"


# The kinds of processes, with their PYTHONPATH, that have been started.
_started: set[tuple[str, str]] = set()


class Popen(subprocess.Popen[Any]):
    """A `subprocess.Popen` of `[sys.executable, "-m" | "-c" | file, …]` that begins its own code sooner.

    It is a child of this process like any other. What /proc says of its command line and environment is its parent's,
    so a test of those uses `subprocess.Popen`, as one of the start itself does. Where it cannot be forked (options of
    the interpreter, other PYTHON… variables, a system without Linux's subreapers) it starts as usual.
    """

    def _execute_child(self, *args: Any, **options: Any) -> None:
        usual = super()._execute_child  # type: ignore[misc]
        given = inspect.signature(usual).bind(*args, **options).arguments
        environment = dict(os.environ if given["env"] is None else given["env"])
        command = [os.fspath(each) for each in given["args"]]
        pipes = [given[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        own = [number if end == -1 else end for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        request = {
            "run": command[1:],
            "directory": os.fspath(given["cwd"] or os.getcwd()),
            "environment": environment,
            "session": given["start_new_session"],
        }
        pid = _fork(own, request) if _is_plain(command, environment, given) else 0
        if not pid:
            usual(*args, **options)
            return
        self.pid = pid
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def run(
    command: list[Any], *, input: Any = None, capture_output: bool = False, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run` with such a process."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(command, **options) as process:
        out, err = process.communicate(input)
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _is_plain(command: list[str], environment: dict[str, str], given: dict[str, Any]) -> bool:
    first = command[1] if len(command) > 1 else "-"
    odd = ("preexec_fn", "pass_fds", "shell", "executable", "gid", "gids", "uid")
    return (
        command[0] == sys.executable
        and (first in ("-m", "-c") or not first.startswith("-"))
        and _configuration(environment) == _configuration(os.environ)
        and not any(given[name] for name in odd)
    )


def is_prepared(command: list[str], environment: dict[str, str]) -> bool:
    """Whether `python COMMAND…` is a process of Toolgate's that begins with django.setup."""
    own = command[:1] == ["manage.py"] or command[:2] in (["-m", "celery"], ["-m", "gateway.server"])
    return own and environment.get("DJANGO_SETTINGS_MODULE") == "gateway.config.settings"


def _configuration(environment: Any) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_CONFIGURED) and name != _ADDED}


def _fork(descriptors: list[int], request: dict[str, Any]) -> int:
    """The id of the new process, of the parent that has most of it already; 0 when there is none to be had."""
    if sys.platform != "linux":
        return 0
    environment = request["environment"]
    pid = 0
    if is_prepared(request["run"], environment):
        kind, path = environment.get("TOOLGATE_PROCESS", "command"), environment.get(_ADDED, "")
        # To prepare one takes as long as to start one: where few tests set a path, the second is worth it.
        if (kind, path) in _started or path == os.environ.get(_ADDED, ""):
            pid = _prepared(kind, path).fork(descriptors, request)
        _started.add((kind, path))
    return pid or _libraries().fork(descriptors, request)


class _Parent:
    """A process that forks; it ends with this one."""

    def __init__(self, start: Callable[[socket.socket], object]) -> None:
        self._lock = threading.Lock()
        self._libc = ctypes.CDLL(None)
        self._asking, answering = socket.socketpair()
        self._asking.settimeout(PATIENCE_SECONDS)
        with answering:
            start(answering)

    def fork(self, descriptors: list[int], request: dict[str, Any]) -> int:
        """The id of a new child of this process; 0 when there is none to be had."""
        message = json.dumps(request).encode()
        with self._lock:
            if self._asking.fileno() == -1:
                return 0
            # Whose parent ends becomes a child of the nearest ancestor that says so, here for this moment alone.
            self._adopt(True)
            answer = b""
            try:
                socket.send_fds(self._asking, [len(message).to_bytes(4, "big")], descriptors)
                self._asking.sendall(message)
                answer = self._asking.recv(20)
            except (BrokenPipeError, ConnectionResetError, TimeoutError):
                pass
            finally:
                if not answer:
                    # Whatever it still answers would be taken for the answer to the next request.
                    self._asking.close()
                self._adopt(False)
            return int(answer or 0)

    def _adopt(self, orphans: bool) -> None:
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


@cache
def _libraries() -> _Parent:
    return _Parent(
        lambda answering: subprocess.Popen(
            [sys.executable, FORKS, str(answering.fileno())], pass_fds=[answering.fileno()]
        )
    )


@cache
def _prepared(kind: str, path: str) -> _Parent:
    environment = os.environ | {"TOOLGATE_PROCESS": kind, _ADDED: path}
    if kind != "command":
        del environment["DATABASE_OWNER_URL"]
    if not path:
        environment.pop(_ADDED)
    command = [sys.executable, "-m", "tests.prepared"]
    return _Parent(lambda answering: Popen(command, cwd=ROOT, env=environment, stdin=answering))
