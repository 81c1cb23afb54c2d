"""Clients that are generated from the OpenAPI document as a running Toolgate serves it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from tests.stack import Stack

HERE = Path(__file__).resolve().parent
NODE_MODULES = HERE.parents[1] / ".venv" / "node" / "node_modules"


@pytest.fixture(scope="module")
def document(stack: "Stack", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document as it is served."""
    answer = httpx.get(f"{stack.url}/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert answer.status_code == 200
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    file.write_bytes(answer.content)
    return file


@pytest.fixture(scope="module")
def python_client(document: Path) -> Iterator[ModuleType]:
    """The package that openapi-python-client makes, without a single warning."""
    folder = document.parent
    (folder / "config.yaml").write_text("post_hooks: []\ncontent_type_overrides: {application/x-ndjson: text/plain}\n")
    options = ["--path", str(document), "--output-path", str(folder / "toolgate_client"), "--meta", "none"]
    command = [sys.executable, "-m", "openapi_python_client", "generate", *options, "--fail-on-warning"]
    made = subprocess.run([*command, "--config", str(folder / "config.yaml")], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "warning" not in (made.stdout + made.stderr).lower()
    sys.path.insert(0, str(folder))
    try:
        import toolgate_client  # type: ignore[import-not-found]

        yield toolgate_client
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "toolgate_client"]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def typescript_client(document: Path) -> Path:
    """driver.ts, type-checked strictly against what openapi-typescript makes, as JavaScript that node runs."""
    if shutil.which("node") is None or not NODE_MODULES.is_dir():
        assert not os.environ.get("CI"), "CI must have node, and tests/node installed by `make test`"
        pytest.skip("there is no node, or tests/node is not installed")
    folder = document.parent
    (folder / "node_modules").symlink_to(NODE_MODULES)
    (folder / "package.json").write_text('{"type": "module"}\n')
    for name in ("driver.ts", "tsconfig.json"):
        shutil.copy(HERE / name, folder)
    _node(folder, "openapi-typescript/bin/cli.js", document.name, "-o", "toolgate.d.ts")
    _node(folder, "typescript/bin/tsc", "--project", "tsconfig.json")
    return folder / "driver.js"


def _node(folder: Path, script: str, *options: str) -> None:
    command = ["node", f"node_modules/{script}", *options]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, f"{script}: {made.stdout}{made.stderr}"
