"""Real PostgreSQL and Valkey for every test, and a tenant of its own for each.

The controller starts one embedded PostgreSQL and migrates or restores one database while the pytest workers collect;
each of them then clones it, and has a Valkey of its own. Tests never clean up: row-level security keeps one test's
tenants from another's, and the directory of all goes in the end.
"""

import functools
import gc
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import httpx
import httpx._transports.default
import httpx2._transports.default
import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG

from gateway.embedded.services import postgres, valkey
from gateway.embedded.services.together import EmbeddedServices
from tests import migrated
from tests.brokers import BROKERS
from tests.durations import pytest_runtest_logreport as pytest_runtest_logreport
from tests.durations import pytest_sessionfinish as pytest_sessionfinish
from tests.hanging import pytest_runtest_teardown as pytest_runtest_teardown
from tests.hanging import pytest_timeout_set_timer as pytest_timeout_set_timer
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.people import Cast
    from tests.stack import Stack

# What httpx waits for when a test says nothing: its own five seconds are too few for a busy machine.
for _part in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _part, PATIENCE_SECONDS)
assert httpx.Client().timeout == httpx.Timeout(PATIENCE_SECONDS)

# Every `httpx.get` makes a client of its own, and each would read the system's certificates anew: 20 ms of a processor,
# more than most requests take. Clients of the same certificates share them. The providers' libraries have httpx2.
for _transports in (httpx._transports.default, httpx2._transports.default):
    _transports.create_ssl_context = functools.cache(_transports.create_ssl_context)  # type: ignore[attr-defined]

# The services that the tests stand on may start slowly, too.
valkey.READY_SECONDS = postgres.READY_SECONDS = postgres.HELD_SECONDS = PATIENCE_SECONDS
valkey.DATABASES = BROKERS.stop

ROOT = Path(__file__).resolve().parent.parent
_directory = pytest.StashKey[Path]()
_services = pytest.StashKey[list[EmbeddedServices]]()
_addresses = pytest.StashKey[dict[str, str]]()
_migration = pytest.StashKey[subprocess.Popen[bytes]]()
_clone = pytest.StashKey[Callable[[], None]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start what the tests stand on, before any of them imports the settings."""
    config.stash[_services] = []
    given = getattr(config, "workerinput", None)
    if given is None:
        config.stash[_directory] = _directory_for_all()
        config.stash[_addresses] = _database(config)
        if config.getoption("numprocesses", None):
            return
    base = given["addresses"] if given is not None else config.stash[_addresses]
    _enter(config, base, given["workerid"] if given is not None else "alone")


# What takes seconds to start and serves more than one test, by the folder or file whose tests share it.
DEAR = {
    *("deployment", "mocked", "allowing", "services", "log", "served", "cluster", "pooled", "document", "installation"),
    *("python_client", "typescript_client", "hasty", "small", "patient", "three", "wired", "sides", "everything"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests that share something dear to one pytest worker, which then starts it once."""
    for item in items:
        if DEAR & set(getattr(item, "fixturenames", ())) or item.path.name == "test_history_live.py":
            where = item.path.parent if item.path.parent.name in ("faults", "compat", "mcp") else item.path
            item.add_marker(pytest.mark.xdist_group(where.relative_to(ROOT).as_posix()))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is collected out of Python's garbage collection. That would look through all of it now and then in the
    middle of a test, which stands still meanwhile: for seconds on a busy machine."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a pytest worker where the migrated database is."""
    node.workerinput["addresses"] = node.config.stash[_addresses]  # type: ignore[attr-defined]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make this process's database, where tests will run."""
    if _clone in session.config.stash and not session.config.option.collectonly:
        session.config.stash[_clone]()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what this process started."""
    if _migration in config.stash:
        config.stash[_migration].kill()
    for services in reversed(config.stash.get(_services, [])):
        services.__exit__(None, None, None)
        shutil.rmtree(services.directory.path / "postgres", ignore_errors=True)
    if _directory in config.stash:
        shutil.rmtree(config.stash[_directory], ignore_errors=True)


def pytest_terminal_summary(exitstatus: pytest.ExitCode, config: pytest.Config) -> None:
    """Keep what the tests wrote where one has failed: the logs of the processes say why."""
    if exitstatus == pytest.ExitCode.TESTS_FAILED and _directory in config.stash:
        print(f"\nWhat the processes of the tests wrote is in {config.stash[_directory]}")
        del config.stash[_directory]


def _directory_for_all() -> Path:
    """Make one directory in which `tempfile` makes those of the tests and of their processes. What pytest makes stays
    where it is: it clears that away itself, and the path of a socket has to be short."""
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="toolgate-tests-")
    return Path(tempfile.tempdir)


def _started(config: pytest.Config, **wanted: bool) -> EmbeddedServices:
    services = EmbeddedServices(Path(tempfile.mkdtemp(prefix="toolgate-test-")), durable=False, **wanted)
    services.__enter__()
    config.stash[_services].append(services)
    return services


def _database(config: pytest.Config) -> dict[str, str]:
    if given := os.environ.get("TEST_ADDRESSES"):
        # `python -m tests.mutations` has a database of its own.
        return dict(json.loads(given))
    services = _started(config, valkey=False)
    addresses = services.addresses() | {"TOOLGATE_DATA_DIR": str(services.directory.path / "toolgate")}
    # The whole suite has a database as migrations make it; for a few tests that would take longer than the tests.
    is_part = config.args_source is pytest.Config.ArgsSource.ARGS
    cache = getattr(config, "cache", None)
    kept = cache.mkdir("toolgate-database") if is_part and cache is not None else None
    config.stash[_migration] = migrated.begin(addresses, kept)
    return addresses


def _enter(config: pytest.Config, base: dict[str, str], name: str) -> None:
    """Start this process's Valkey, and set Django up on it and on the database that this process will have."""
    database = f"test_{name}"
    config.stash[_clone] = functools.partial(migrated.clone, base, database)
    addresses = {
        name: urlunsplit(urlsplit(value)._replace(path=f"/{database}")) if name.startswith("DATABASE") else value
        for name, value in base.items()
    }
    valkey = _started(config, postgres=False)
    # Each database has a log of its own, and so a key and a checkpoint file; the generated secrets are those of all.
    data_dir = Path(base["TOOLGATE_DATA_DIR"]) / name
    data_dir.mkdir()
    shutil.copy(data_dir.parent / "generated.json", data_dir)
    os.environ.update(
        addresses,
        TOOLGATE_DATA_DIR=str(data_dir),
        TEMPLATE_DATABASE=migrated.template(base),
        REDIS_URL=valkey.redis_url,
        TOOLGATE_ENV="development",
        RUN_LEASE_SECONDS="3",
        # A busy machine refuses nobody for want of a connection, but where a test is about that.
        DATABASE_POOL_SECONDS="60",
        # Nor does it give up a provider that waits for a test, which waits for a page.
        PROVIDER_IDLE_SECONDS="3600",
        DJANGO_SETTINGS_MODULE="gateway.config.settings",
    )
    import django
    from django.conf import settings

    django.setup()
    # In this process alone; the web processes hash as they do for everybody.
    settings.PASSWORD_HASHERS = ["tests.hashing.QuickHasher"]


@pytest.fixture(autouse=True)
async def _closed_loop_resources(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Close what an asynchronous test opened on its event loop."""
    yield
    from tenants.scope import transactions
    from tools.network import clients, redis

    await clients.close()
    await redis.close()
    await transactions.close_pools()
    _close_pools_of_ended_loops()


def _close_pools_of_ended_loops() -> None:
    """Give back connections that synchronous code had opened on a loop of its own, which nobody would until the garbage
    is collected: PostgreSQL has no more than so many."""
    from tenants.scope import transactions

    for loop in [each for each in list(transactions._pools) if each.is_closed()]:
        for pool in transactions._pools.pop(loop).values():
            for connection in pool._pool:
                connection.pgconn.finish()


@pytest.fixture
def tenant() -> "Cast":
    """A fresh tenant with alice and bob (members), carol (approver), dana (auditor) and olga (owner)."""
    from tests.people import make_tenant

    return make_tenant()


@pytest.fixture
def other_tenant() -> "Cast":
    """Another tenant with the same cast, for what must not reach across."""
    from tests.people import make_tenant

    return make_tenant()


@pytest.fixture(scope="session")
def stack() -> "Iterator[Stack]":
    """A running web process and worker on this pytest worker's database and Valkey."""
    from tests.stack import Stack

    with Stack() as running:
        yield running
