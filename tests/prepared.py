"""A parent of processes that has set Django up: `tests.processes` asks it before the one of `tests.forks`.

It runs as `python -m tests.prepared` with the socket as its standard input, and loads what a process of its
TOOLGATE_PROCESS loads. It notes the settings and variables that were read meanwhile. It forks where none of these has
another value in the environment of the new process, which then has the settings of that environment.
"""

import gc
import importlib
import os
import socket
import sys
import threading
import types
import warnings
from typing import Any

from tests import forks

_read: dict[str, str | None] = {}
# What was made of these is made anew.
_RESET = {"DATABASES"}


class _Noting(type(os.environ)):  # type: ignore[misc]
    def __getitem__(self, name: str) -> str:
        value = self._data.get(self.encodekey(name))
        _read[name] = None if value is None else self.decodevalue(value)
        return str(super().__getitem__(name))


def _load() -> None:
    import django
    from django.conf import settings

    kind = os.environ.get("TOOLGATE_PROCESS", "command")
    # Settings are compared as such; from here on only other readers of the environment are noted.
    assert not settings.DEBUG
    usual = os.environ.__class__
    os.environ.__class__ = _Noting
    django.setup()
    from django.urls import get_resolver

    if kind == "web":
        importlib.import_module("gateway.config.asgi")
        importlib.import_module("gateway.server.connections")
    if kind == "worker":
        from tools import registry

        for package in ("gateway", "approvals", "notifications", "services", "tools"):
            importlib.import_module(f"{package}.tasks")
        registry.require()
    if kind != "beat":
        assert get_resolver().url_patterns
    os.environ.__class__ = usual


def _enter(environment: dict[str, str]) -> bool:
    """Whether all that was read is the same in an environment, whose settings are then those of this process."""
    from django.conf import Settings, settings
    from django.db import connections

    from gateway.process import environment as reading

    if any(environment.get(name) != value for name, value in _read.items()):
        return False
    os.environ.clear()
    os.environ.update(environment)
    reading._dotenv.cache_clear()
    reading._services.cache_clear()
    del sys.modules["gateway.config.settings"]
    try:
        others = Settings("gateway.config.settings")
    except Exception:
        # The process itself says what is wrong with its settings.
        return False
    names = set(settings.__dict__) - {"_wrapped"} - _RESET
    if not all(_is_same(getattr(settings._wrapped, name), getattr(others, name, None)) for name in names):
        return False
    settings._wrapped = others
    for alias in [connection.alias for connection in connections.all(initialized_only=True)]:
        del connections[alias]
    connections._settings = None
    connections.__dict__.pop("settings", None)
    return True


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, types.FunctionType) and isinstance(other, types.FunctionType):
        return one.__code__ == other.__code__
    return bool(one == other)


def _begin() -> None:
    """Do in a new process what `django.setup` does for each."""
    from django.conf import settings
    from django.db import connections
    from django.utils.log import configure_logging

    # Django completes the settings of the databases when they are first read.
    assert connections.settings
    os.environ["TZ"] = settings.TIME_ZONE
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)


def main() -> None:
    """Load, and be forked."""
    given = len([each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each])
    path = sys.path[1 + given :]
    asked = socket.socket(fileno=os.dup(0))
    with warnings.catch_warnings(), asked:
        warnings.simplefilter("ignore")
        _load()
        assert len(os.listdir("/proc/self/task")) == 1 and threading.active_count() == 1
        gc.collect()
        gc.freeze()
        request = forks.serve(asked, _enter)
    if request is not None:
        _begin()
        forks.run(request["run"], path)


if __name__ == "__main__":
    main()
