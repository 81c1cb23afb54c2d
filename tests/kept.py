"""The tests' database, migrated; kept as a dump, since to restore one takes a second and to migrate fifteen.

`python -m tests.kept FOLDER` migrates the database at DATABASE_OWNER_URL, from the dump in FOLDER if there is one of
the same digest. A dump is put there whole or not at all, and restored whole or not at all.
"""

import hashlib
import os
import runpy
import site
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from gateway.operations.backup import programs
from gateway.operations.backup.errors import BackupRefused

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("approvals", "audit", "gateway", "notifications", "services", "tenants", "tools")
# What a migration may import of ours (tests/test_kept.py), its SQL, and where PostgreSQL and its roles are set up.
SOURCES = ("**/migrations/**/*.py", "**/*.sql", "identifiers.py", "models/**/*.py", "scope/**/*.py", "embedded/**/*.py")


def sources() -> Iterator[Path]:
    """Every file that says what the migrated database is."""
    for package in PACKAGES:
        yield from sorted({path for pattern in SOURCES for path in (ROOT / package).glob(pattern)})


def digest() -> str:
    """Of those files, of which libraries are installed (Django, PostgreSQL), and of the month, which has partitions."""
    made = hashlib.sha256(f"{sys.version} {datetime.now(UTC):%Y-%m}".encode())
    for folder in site.getsitepackages():
        made.update("\n".join(sorted(path.name for path in Path(folder).glob("*.dist-info"))).encode())
    for path in sources():
        made.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return made.hexdigest()[:32]


def migrate(url: str, folder: Path) -> None:
    """Migrate the empty database at `url`; keep a dump of it in `folder` in the place of those of other digests."""
    dump = folder / f"{digest()}.dump"
    restored = dump.exists() and restore(url, dump)
    # A dump has everything, except where its digest misses something that a migration depends on.
    sys.argv = ["manage.py", "migrate", "-v0", "--skip-checks"]
    runpy.run_path(str(ROOT / "manage.py"), run_name="__main__")
    if restored:
        return
    part = folder / f"{dump.stem}.{os.getpid()}"
    if dump_to(part, url):
        for other in folder.glob("*.dump"):
            other.unlink(missing_ok=True)
        part.replace(dump)


def restore(url: str, dump: Path) -> bool:
    """Whether the database at `url` is now the dump's; if not, it is as empty as before."""
    contents = dump.with_suffix(f".{os.getpid()}.list")
    try:
        contents.write_text("\n".join(_as_made(programs.listed(_program("pg_restore", url), dump))))
        return _run("pg_restore", url, "--exit-on-error", "--single-transaction", f"--use-list={contents}", str(dump))
    except BackupRefused:
        return False
    finally:
        contents.unlink(missing_ok=True)


def _as_made(lines: list[str]) -> list[str]:
    """A dump's contents with its indexes in the order in which migrations make them: of two that cost the same,
    PostgreSQL takes the one that it finds first."""
    indexes = [line for line in lines if " INDEX public " in line or " CONSTRAINT public " in line]
    indexes = [line for line in indexes if " FK CONSTRAINT " not in line]
    first = lines.index(indexes[0]) if indexes else 0
    others = [line for line in lines[first:] if line not in set(indexes)]
    # A line begins with "number; catalogue's oid, own oid".
    return [*lines[:first], *sorted(indexes, key=lambda line: int(line.split()[2])), *others]


def dump_to(file: Path, url: str) -> bool:
    """Whether the database at `url` is now in the file."""
    # `setup_database` makes the extension, as only a superuser may everywhere.
    return _run("pg_dump", url, "--format=custom", "--exclude-extension=vector", f"--file={file}")


def _run(name: str, url: str, *words: str) -> bool:
    """Whether it ended well: without a dump, the database is migrated as ever."""
    try:
        programs.run(_program(name, url), url, words)
    except BackupRefused as refused:
        print(f"{name}: {refused}", file=sys.stderr)
        return False
    return True


def _program(name: str, url: str) -> programs.Program:
    with psycopg.connect(urlunsplit(urlsplit(url)._replace(path="/postgres"))) as connection:
        return programs.find(name, connection.info.server_version // 10_000, "the tests' PostgreSQL")


if __name__ == "__main__":
    migrate(os.environ["DATABASE_OWNER_URL"], Path(sys.argv[1]))
