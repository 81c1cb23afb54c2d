"""The database that is migrated while the tests are collected, and the clone of it that each pytest worker has."""

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import psycopg

ROOT = Path(__file__).resolve().parent.parent


def begin(addresses: dict[str, str], kept: Path | None = None) -> "subprocess.Popen[bytes]":
    """Set the database at these addresses up, and begin to migrate it; who is in the way of its end may end it.

    `kept` is where the databases of earlier runs are (`tests.kept`).
    """
    environment = os.environ | addresses | {"REDIS_URL": "redis://127.0.0.1:1/0"}
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "setup_database"], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    outcome = _outcome(addresses).open("w")
    # Whoever reads it waits for this lock, which the end of this process would take away, too.
    fcntl.flock(outcome, fcntl.LOCK_EX)
    migrate = [*manage, "migrate", "-v0", "--skip-checks"]
    migrating = subprocess.Popen(
        migrate if kept is None else [sys.executable, "-m", "tests.kept", kept], cwd=ROOT, env=environment
    )
    threading.Thread(target=_write, args=(migrating, outcome), daemon=True).start()
    return migrating


def clone(addresses: dict[str, str], name: str) -> None:
    """Make the database `name` a clone of the one at these addresses, once that is migrated."""
    if _outcome(addresses).exists():
        with _outcome(addresses).open() as outcome:
            fcntl.flock(outcome, fcntl.LOCK_SH)
            if outcome.read() != "0":
                raise RuntimeError("the database of the tests could not be migrated")
    maintenance = addresses["DATABASE_OWNER_URL"].rpartition("/")[0] + "/postgres"
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template(addresses)}"'.encode())


def template(addresses: dict[str, str]) -> str:
    """The name of the migrated database."""
    return urlsplit(addresses["DATABASE_URL"]).path.strip("/")


def _outcome(addresses: dict[str, str]) -> Path:
    return Path(addresses["TOOLGATE_DATA_DIR"]) / "migrated"


def _write(migrating: "subprocess.Popen[bytes]", outcome: IO[str]) -> None:
    with outcome:
        outcome.write(str(migrating.wait()))
