"""The SDK costs a second of a processor to import: nobody pays for it who does not serve MCP."""

import os
import subprocess
import sys

import pytest

from tests.stack import ROOT

NOT_YET = "assert not {'mcp', 'mcp_types', 'starlette'} & set(sys.modules), sorted(sys.modules)"


@pytest.mark.parametrize("module", ["gateway.config.asgi", "gateway.config.celery", "gateway.server.__main__"])
def test_a_process_that_serves_no_mcp_imports_none_of_it(module: str) -> None:
    code = f"import sys, {module}; import django; django.setup(); {NOT_YET}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
