"""The parent of Python processes that tests start: it has imported the libraries, and forks.

`tests.processes` runs it with one end of a socket. A request is a JSON document {"run", "directory", "environment",
"session"}, after its length and the descriptors of standard input, output and error; the answer is the id of the new
process.
"""

import gc
import importlib
import io
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

# What is not imported here but in each process: our own code, and these, which want that process's settings.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WITH_SETTINGS = ("allauth", "django.contrib", "rest_framework", "drf_spectacular", "django_filters", "unfold")
PROCESSES = """
import warnings; warnings.simplefilter("ignore")
import gateway.config.asgi, gateway.server.__main__, celery.__main__, celery.bin.celery
from django.urls import get_resolver; get_resolver().url_patterns
from django.core.management import execute_from_command_line
from celery.apps import beat, worker
from gateway.config.celery import app; app.loader.import_default_modules()
"""


def _modules() -> list[str]:
    """Every library's module that our processes import, in their order; another process finds out."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            exec(PROCESSES, {})
        finally:
            os.write(writing, "\n".join(filter(_is_shared, sys.modules)).encode())
            os._exit(0)
    os.close(writing)
    with open(reading) as found:
        names = found.read().split()
    os.waitpid(pid, 0)
    return [name for name in names if name not in sys.modules]


def _is_shared(name: str) -> bool:
    file = str(getattr(sys.modules[name], "__file__", None) or "")
    ours = file.startswith(f"{ROOT}{os.sep}") and not file.startswith(f"{sys.prefix}{os.sep}")
    return not ours and not any(f"{name}.".startswith(f"{each}.") for each in WITH_SETTINGS)


def _preload() -> None:
    for name in _modules():
        try:
            importlib.import_module(name)
        except Exception:
            sys.modules.pop(name, None)
    # A fork has one thread; a library that has started another would be without it.
    assert len(os.listdir("/proc/self/task")) == 1 and threading.active_count() == 1
    gc.collect()
    gc.freeze()


def serve(asked: socket.socket, enter: Callable[[dict[str, str]], bool] | None = None) -> dict[str, Any] | None:
    """Answer requests until the tests end; in each new process, return what it is to run.

    `enter` may refuse an environment: then there is no new process, and the answer is 0.
    """
    while True:
        size, descriptors, _, _ = socket.recv_fds(asked, 4, 3)
        if not size:
            return None
        message = asked.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            request: dict[str, Any] = json.loads(message)
            if enter is not None and not _entered(enter, request["environment"]):
                os.write(writing, b"0")
                os._exit(0)
            # The parent of the parent takes over: the process becomes a child of the tests, not of this one.
            intermediate = os.getpid()
            pid = os.fork()
            if pid:
                os.write(writing, str(pid).encode())
                os._exit(0)
            while os.getppid() == intermediate:
                time.sleep(0.001)
            if request["session"]:
                os.setsid()
            # At the end of this pipe it is known to the tests: by now it has the group that they send signals to.
            for descriptor in (reading, writing):
                os.close(descriptor)
            asked.close()
            _become(request, descriptors)
            return request
        os.close(writing)
        os.waitpid(between, 0)
        with open(reading) as shown:
            asked.sendall(shown.read().encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _entered(enter: Callable[[dict[str, str]], bool], environment: dict[str, str]) -> bool:
    try:
        return enter(environment)
    except BaseException:
        traceback.print_exc()
        return False


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        mode, buffering = ("rb", -1) if number == 0 else ("wb", 0 if at_once else -1)
        raw: Any = open(number, mode, buffering, closefd=False)  # noqa: SIM115
        line = number == 2 or os.isatty(number)
        errors = "backslashreplace" if number == 2 else "strict"
        stream = io.TextIOWrapper(raw, "utf-8", errors, line_buffering=line, write_through=at_once)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(arguments: list[str], path: list[str]) -> None:
    """Do what Python does with a command line `-m module …`, `-c code …` or `file …`."""
    found = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    kind, *rest = arguments
    first = {"-m": os.getcwd(), "-c": ""}.get(kind, os.path.dirname(os.path.abspath(kind)))
    sys.path[:] = [first, *found, *path]
    sys.orig_argv = [sys.executable, *arguments]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if kind == "-m":
        import runpy

        sys.argv = rest
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        return
    sys.argv = ["-c", *rest[1:]] if kind == "-c" else arguments
    if kind == "-c":
        code = compile(rest[0], "<string>", "exec")
    else:
        main.__file__ = kind
        with open(kind, "rb") as file:
            code = compile(file.read(), kind, "exec")
    exec(code, main.__dict__)


def main() -> None:
    """Import the libraries, and be forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What the interpreter has put there: this file's folder, then PYTHONPATH.
    path = sys.path[1 + len([each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]) :]
    sys.path[0] = os.getcwd()
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        _preload()
        request = serve(asked)
    if request is not None:
        run(request["run"], path)


if __name__ == "__main__":
    main()
