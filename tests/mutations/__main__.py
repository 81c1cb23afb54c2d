"""Break one guarantee after another in a copy of the source, and run the tests that stand for it.

    python -m tests.mutations                all of them; ends with 1 when one was not noticed
    python -m tests.mutations fence csrf     those whose name holds one of the words
    python -m tests.mutations --list         what there is

All of them take more than an hour, so it is no part of `make test`, which only looks whether they fit the code.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from gateway.embedded.services.together import EmbeddedServices
from tests.mutations.catalogue import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "var", "__pycache__", ".*_cache", ".hypothesis", "staticfiles")
# A test that a mutation makes wait for ever has noticed it as well.
MOST_SECONDS = 900


class Stale(Exception):
    """The source has changed, and the mutation fits it no longer."""


class Laboratory:
    """A copy of the source, and a migrated database to clone: `with Laboratory() as lab: lab.noticed(mutation)`."""

    def __enter__(self) -> "Laboratory":
        self._directory = Path(tempfile.mkdtemp(prefix="toolgate-mutations-"))
        self._copy = self._directory / "source"
        shutil.copytree(ROOT, self._copy, ignore=LEFT_OUT)
        (self._copy / ".venv").symlink_to(ROOT / ".venv")
        self._services = EmbeddedServices(self._directory / "services", durable=False, valkey=False)
        self._services.__enter__()
        self._addresses = self._services.addresses() | {"TOOLGATE_DATA_DIR": str(self._directory / "data")}
        nowhere = {"REDIS_URL": "redis://127.0.0.1:1/0"}
        for command in (["setup_database"], ["migrate", "-v0", "--skip-checks"]):
            subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=ROOT, env=os.environ | self._addresses | nowhere, check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        return self

    def __exit__(self, *error: object) -> None:
        self._services.__exit__(None, None, None)
        shutil.rmtree(self._directory, ignore_errors=True)

    def noticed(self, mutation: Mutation) -> str:
        """The first test that fails under the mutation; "" when none does."""
        original = self._replace(mutation)
        try:
            addresses = self._database(mutation)
            tests = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
            environment = os.environ | {"TEST_ADDRESSES": json.dumps(addresses)}
            try:
                done = subprocess.run(
                    [*tests, *mutation.tests], cwd=self._copy, env=environment, check=False,
                    capture_output=True, text=True, timeout=MOST_SECONDS,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return "a test that waited for ever"
        finally:
            if original is not None:
                (self._copy / mutation.file).write_text(original)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        if failed is None and done.returncode:
            raise SystemExit(f"{mutation.name}: the tests could not be run\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return failed[1] if failed else ""

    def _replace(self, mutation: Mutation) -> str | None:
        if not mutation.file:
            return None
        text = (self._copy / mutation.file).read_text()
        if text.count(mutation.old) != 1:
            raise Stale(f"{mutation.file} has this {text.count(mutation.old)} times and not once: {mutation.old!r}")
        (self._copy / mutation.file).write_text(text.replace(mutation.old, mutation.new))
        return text

    def _database(self, mutation: Mutation) -> dict[str, str]:
        """The addresses of a fresh clone of the database, with the mutation's SQL run in it."""
        owner = urlsplit(self._addresses["DATABASE_OWNER_URL"])
        template = owner.path.strip("/")
        with psycopg.connect(urlunsplit(owner._replace(path="/postgres")), autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS test_alone WITH (FORCE)")
            connection.execute("DROP DATABASE IF EXISTS mutated WITH (FORCE)")
            connection.execute(f'CREATE DATABASE mutated TEMPLATE "{template}"'.encode())
        # A function's file is what migrations have loaded before it was changed.
        function = (self._copy / mutation.file).read_text() if mutation.file.endswith(".sql") else ""
        if sql := mutation.sql or function:
            with psycopg.connect(urlunsplit(owner._replace(path="/mutated"))) as connection:
                connection.execute(sql.encode())
        data = Path(tempfile.mkdtemp(dir=self._directory)) / "data"
        shutil.copytree(self._addresses["TOOLGATE_DATA_DIR"], data)
        return {
            name: urlunsplit(urlsplit(value)._replace(path="/mutated")) if name.startswith("DATABASE") else value
            for name, value in self._addresses.items()
        } | {"TOOLGATE_DATA_DIR": str(data)}


def main(words: list[str]) -> int:
    """Run the mutations that the words name; the number of those that nothing noticed, 1 at most."""
    wanted = [each for each in MUTATIONS if not words or any(word in each.name for word in words)]
    unnoticed = 0
    with Laboratory() as lab:
        for each in wanted:
            try:
                said = lab.noticed(each)
            except Stale as stale:
                said, unnoticed = f"STALE: {stale}", unnoticed + 1
            else:
                unnoticed += not said
            print(f"| {each.name} | {said or 'NOT NOTICED'} |", flush=True)
    print(f"{len(wanted) - unnoticed} of {len(wanted)} were noticed")
    return int(bool(unnoticed))


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for each in MUTATIONS:
            print(each.name)
    else:
        sys.exit(main(sys.argv[1:]))
