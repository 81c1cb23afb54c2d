"""The client scenarios of the official conformance suite, with the client that calls the tools of MCP services."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.mcp.test_conformance import HERE, suite

__all__ = ["suite"]

ROOT = Path(__file__).resolve().parents[2]
# How many of the client's scenarios may fail, as the files list them. These numbers only go down.
MOST_FAILURES = {"2026-07-28": 0, "2025-11-25": 1}


def _expected(revision: str) -> Path:
    return HERE / f"expected-client-{revision}.yaml"


# The suite starts all of its clients at once, and each starts Python: one at a time does, and none is held to a time.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("revision", sorted(MOST_FAILURES))
def test_every_client_scenario_passes_but_those_that_are_known_to_fail(
    revision: str, suite: list[str], tmp_path: Path
) -> None:
    client = f"{sys.executable} -m tests.mcp.in_turn {tmp_path / 'turn'} tests.mcp.conformance_client"
    asked = ["client", "--command", client, "--requirements", revision, "--output-dir", str(tmp_path)]
    command = [*suite, *asked, "--expected-failures", str(_expected(revision)), "--timeout", "800000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "✓ tools_call" in done.stdout


@pytest.mark.parametrize("revision", sorted(MOST_FAILURES))
def test_the_list_of_expected_failures_of_the_client_only_shrinks(revision: str) -> None:
    listed = yaml.safe_load(_expected(revision).read_text())
    assert set(listed) == {"client"}
    assert len(set(listed["client"])) == len(listed["client"]) == MOST_FAILURES[revision]
