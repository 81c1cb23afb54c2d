"""Python processes for tests, forked from one that has imported the libraries: most of a start is imports."""

import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

FORKS = Path(__file__).with_name("forks.py")
_PR_SET_CHILD_SUBREAPER = 36
# A fork is of an interpreter that has been configured already; the path alone can be added to.
_CONFIGURED = "PYTHON"
_ADDED = "PYTHONPATH"


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
        parent = _parent() if _is_plain(command, environment, given) else None
        pid = parent and parent.fork(
            own,
            run=command[1:],
            directory=os.fspath(given["cwd"] or os.getcwd()),
            environment=environment,
            session=given["start_new_session"],
        )
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


def _configuration(environment: Any) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_CONFIGURED) and name != _ADDED}


class _Parent:
    """The process that forks; it ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking, answering = socket.socketpair()
        self._libc = ctypes.CDLL(None)
        with answering:
            subprocess.Popen([sys.executable, FORKS, str(answering.fileno())], pass_fds=[answering.fileno()])

    def fork(self, descriptors: list[int], **request: Any) -> int:
        """The id of a new child of this process; 0 when there is none to be had."""
        message = json.dumps(request).encode()
        with self._lock:
            # Whose parent ends becomes a child of the nearest ancestor that says so, here for this moment alone.
            self._adopt(True)
            try:
                socket.send_fds(self._asking, [len(message).to_bytes(4, "big")], descriptors)
                self._asking.sendall(message)
                return int(self._asking.recv(20) or 0)
            except (BrokenPipeError, ConnectionResetError):
                return 0
            finally:
                self._adopt(False)

    def _adopt(self, orphans: bool) -> None:
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


@cache
def _parent() -> _Parent | None:
    return _Parent() if sys.platform == "linux" else None
