"""A pytest worker has its database once the migration has ended well, and none when it has not."""

import fcntl
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests import migrated
from tests.database import rows
from tests.waiting import PATIENCE_SECONDS, until


@pytest.fixture
def addresses(tmp_path: Path) -> dict[str, str]:
    """Those of the migrated database, whose migration ends when the test says so."""
    owner = os.environ["DATABASE_OWNER_URL"]
    url = urlunsplit(urlsplit(owner)._replace(path=f"/{os.environ['TEMPLATE_DATABASE']}"))
    return {"DATABASE_URL": url, "DATABASE_OWNER_URL": owner, "TOOLGATE_DATA_DIR": str(tmp_path)}


def _exists(name: str) -> bool:
    return bool(rows("SELECT 1 AS it FROM pg_database WHERE datname = %(name)s", name=name))


def _somebody_waits_for(file: Path) -> bool:
    waiting = [line for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
    return any(f":{file.stat().st_ino} " in line for line in waiting)


def test_who_comes_while_the_database_is_migrated_waits_for_the_end(addresses: dict[str, str], tmp_path: Path) -> None:
    name, file = f"cloned_{uuid.uuid4().hex[:12]}", tmp_path / "migrated"
    with ThreadPoolExecutor() as pool:
        with file.open("w") as outcome:
            fcntl.flock(outcome, fcntl.LOCK_EX)
            cloning = pool.submit(migrated.clone, addresses, name)
            until(lambda: _somebody_waits_for(file))
            assert not _exists(name)
            outcome.write("0")
        cloning.result(PATIENCE_SECONDS)
    assert _exists(name)


@pytest.mark.parametrize("said", ["1", "-9", ""], ids=["it failed", "it was killed", "the controller has ended"])
def test_there_is_no_clone_of_what_was_not_migrated_to_its_end(
    addresses: dict[str, str], tmp_path: Path, said: str
) -> None:
    name = f"cloned_{uuid.uuid4().hex[:12]}"
    (tmp_path / "migrated").write_text(said)
    with pytest.raises(RuntimeError, match="could not be migrated"):
        migrated.clone(addresses, name)
    assert not _exists(name)
