"""A suite clears away what its tests wrote, two gigabytes when it is whole; the logs stay when a test has failed."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.stack import ROOT
from tests.waiting import PATIENCE_SECONDS


def _collect(places: Path, *more: str) -> str:
    """What a run prints that makes its temporary files in `places`; it starts all that the tests stand on, and ends."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TEST_"))}
    run = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    return subprocess.run(
        [*run, "-c", str(ROOT / "pyproject.toml"), str(Path(__file__)), *more],
        cwd=ROOT, env=environment | {"TMPDIR": str(places)}, capture_output=True, text=True, check=False,
        timeout=PATIENCE_SECONDS,
    ).stdout  # fmt: skip


def test_what_passed_leaves_nothing(tmp_path: Path) -> None:
    assert _collect(tmp_path).startswith("tests/test_cleared.py: 2\n")
    assert list(tmp_path.iterdir()) == []


def test_what_failed_leaves_its_logs_and_no_database(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import no_module_of_this_name")
    said = _collect(tmp_path, str(tmp_path / "test_broken.py"), "--continue-on-collection-errors")
    [kept] = re.findall(r"What the processes of the tests wrote is in (.+)", said)
    [log] = Path(kept).rglob("postgres.log")
    assert "PostgreSQL" in log.read_text()
    assert not (log.parent / "postgres").exists()
