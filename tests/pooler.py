"""PgBouncer in transaction mode before the tests' PostgreSQL: each transaction may get another connection."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
import pytest

from tests.stack import free_port
from tests.waiting import PATIENCE_SECONDS, until

LOGINS = {"default": "DATABASE_URL", "system": "DATABASE_SYSTEM_URL", "operator": "DATABASE_OPERATOR_URL"}


@contextmanager
def pooler(urls: dict[str, str], connections: int) -> Iterator[dict[str, str]]:
    """The URLs of the same databases behind a PgBouncer that has `connections` to each of them.

    Without PgBouncer the test is skipped, except in CI.
    """
    binary = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None:
        if os.environ.get("CI"):
            pytest.fail("pgbouncer is not installed, and nothing may be skipped here")
        pytest.skip("pgbouncer is not installed")
    port = free_port()
    directory = Path(tempfile.mkdtemp(prefix="toolgate-pooler-"))
    _configure(directory, port, urls, connections)
    as_root = []
    if os.geteuid() == 0:
        # It refuses to run as root.
        owner = pwd.getpwnam("nobody")
        for path in (directory, *directory.iterdir()):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        as_root = ["-u", "nobody"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([binary, *as_root, str(directory / "pgbouncer.ini")], stdout=log, stderr=log)
    try:
        behind = {name: _at(url, port) for name, url in urls.items()}
        until(lambda: _answers(process, behind["DATABASE_URL"], directory / "log"))
        yield behind
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SECONDS)
        shutil.rmtree(directory)


def _configure(directory: Path, port: int, urls: dict[str, str], connections: int) -> None:
    server = urlsplit(urls["DATABASE_URL"])
    (directory / "pgbouncer.ini").write_text(f"""
[databases]
* = host={server.hostname} port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {directory / "users"}
pool_mode = transaction
default_pool_size = {connections}
admin_users = {urlsplit(urls["DATABASE_URL"]).username}
max_client_conn = 500
""")
    logins = [(unquote(each.username or ""), unquote(each.password or "")) for each in map(urlsplit, urls.values())]
    (directory / "users").write_text("".join(f'"{name}" "{password}"\n' for name, password in logins))


def transactions(url: str) -> int:
    """How many transactions the pooler at the URL has passed on."""
    with psycopg.connect(_database(url, "pgbouncer"), autocommit=True, prepare_threshold=None) as console:
        # It speaks only the simple protocol.
        return sum(int(row[1]) for row in psycopg.ClientCursor(console).execute("SHOW STATS_TOTALS").fetchall())


def _database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _at(url: str, port: int) -> str:
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}"))


def _answers(process: "subprocess.Popen[bytes]", url: str, log: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError(log.read_text())
    try:
        with psycopg.connect(url, prepare_threshold=None) as connection:
            return connection.execute("SELECT 1").fetchone() is not None
    except psycopg.OperationalError:
        return False
