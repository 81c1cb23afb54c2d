"""A database that is restored from a kept dump is the one that the migrations make, or it is migrated as ever."""

import ast
import os
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from gateway.embedded.services.together import EmbeddedServices
from tests import kept, migrated
from tests.gateway.test_backup import catalogue
from tests.waiting import PATIENCE_SECONDS

OWNER = os.environ["DATABASE_OWNER_URL"]


def _url(name: str) -> str:
    return urlunsplit(urlsplit(OWNER)._replace(path=f"/{name}"))


@pytest.fixture
def clone() -> Iterator[str]:
    """The address of a clone of the migrated database."""
    name = f"kept_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(OWNER, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{os.environ["TEMPLATE_DATABASE"]}"'.encode())
        yield _url(name)
        connection.execute(f'DROP DATABASE "{name}"'.encode())


def _indexes(url: str) -> list[tuple[str, ...]]:
    """The indexes of each table, in the order in which they were made, by which PostgreSQL chooses among equals."""
    ordered = """
        SELECT indrelid::regclass::text, indexrelid::regclass::text FROM pg_index
        JOIN pg_class ON pg_class.oid = indrelid WHERE relnamespace = 'public'::regnamespace
        ORDER BY 1, pg_index.indexrelid"""
    with psycopg.connect(url) as connection:
        return connection.execute(ordered).fetchall()


def _dumped(url: str, folder: Path) -> Path:
    dump = folder / f"{kept.digest()}.dump"
    assert kept.dump_to(dump, url)
    return dump


def test_what_a_migration_imports_of_ours_is_in_the_digest() -> None:
    known = set(kept.sources())
    for path in [each for each in known if "migrations" in each.parts]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in getattr(node, "names", [])] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                if name.partition(".")[0] in kept.PACKAGES:
                    assert _file_of(name) in known, f"{path}: {name}"


def _file_of(name: str) -> Path:
    """The module of this name, or in which it is defined."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError:
        found = None
    found = found or find_spec(name.rpartition(".")[0])
    assert found is not None and found.origin is not None
    return Path(found.origin)


@pytest.mark.parametrize("source", ["gateway/runs/sql", "tenants/migrations", "tenants/scope"])
def test_each_file_of_them_makes_another_digest(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept.digest()
    changed = next(each for each in kept.sources() if each.relative_to(kept.ROOT).as_posix().startswith(source))
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: read(self) + (b" " if self == changed else b""))
    assert kept.digest() != before


def test_a_database_that_is_restored_is_as_the_migrations_make_it(clone: str, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    dump = _dumped(clone, tmp_path / "kept")
    before = dump.stat().st_mtime_ns
    with EmbeddedServices(tmp_path / "new", durable=False, valkey=False) as services:
        addresses = services.addresses() | {"TOOLGATE_DATA_DIR": str(tmp_path / "new" / "toolgate")}
        assert migrated.begin(addresses, dump.parent).wait(PATIENCE_SECONDS) == 0
        assert catalogue(services.database_owner_url) == catalogue(clone)
        assert _indexes(services.database_owner_url) == _indexes(clone)
    # It was not migrated, which would have made another one.
    assert [(each, each.stat().st_mtime_ns) for each in dump.parent.iterdir()] == [(dump, before)]


@pytest.mark.parametrize("kind", ["cut short", "of a table that is there"])
def test_of_a_dump_that_is_not_restored_whole_nothing_is_left(clone: str, tmp_path: Path, kind: str) -> None:
    dump = _dumped(clone, tmp_path)
    if kind == "cut short":
        dump.write_bytes(dump.read_bytes()[: -dump.stat().st_size // 4])
    name = f"kept_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(OWNER, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            with psycopg.connect(_url(name), autocommit=True) as before:
                before.execute("CREATE TABLE users ()" if kind != "cut short" else "SELECT 1")
            assert not kept.restore(_url(name), dump)
            with psycopg.connect(_url(name)) as after:
                found = after.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
                assert found.fetchall() == ([] if kind == "cut short" else [("users",)])
        finally:
            connection.execute(f'DROP DATABASE "{name}"'.encode())
