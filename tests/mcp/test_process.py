"""The SDK costs a second of a processor to import: nobody pays for it who does not serve MCP."""

import asyncio
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import anyio
import psycopg
import pytest

from gateway.runs.errors import InvalidRequest
from tests.stack import ROOT

NOT_YET = "assert not {'mcp', 'mcp_types', 'starlette'} & set(sys.modules), sorted(sys.modules)"


@pytest.mark.parametrize("module", ["gateway.config.asgi", "gateway.config.celery", "gateway.server.__main__"])
def test_a_process_that_serves_no_mcp_imports_none_of_it(module: str) -> None:
    code = f"import sys, {module}; import django; django.setup(); {NOT_YET}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("error", "number", "code"),
    [
        (psycopg.OperationalError("secret address"), -32603, "unavailable"),
        (RuntimeError("secret"), -32603, "internal_error"),
        (InvalidRequest("No."), -32600, "invalid_request"),
    ],
)
async def test_what_ends_a_request_is_told_with_its_code_and_no_detail(
    error: Exception, number: int, code: str
) -> None:
    from mcp.shared.exceptions import MCPError

    from gateway.mcp import exchange, server

    nobody = SimpleNamespace(principal=None)
    asked: Any = SimpleNamespace(request=SimpleNamespace(scope={exchange.KEY: nobody}))

    async def fails(context: Any) -> None:
        raise error

    with pytest.raises(MCPError) as refused:
        await server.refusing(asked, fails)
    assert (refused.value.code, refused.value.data) == (number, {"code": code})
    assert "secret" not in refused.value.message


def test_no_span_is_made_of_a_message_that_nothing_would_export() -> None:
    from gateway.mcp import server

    assert not [each for each in server.make_server().middleware if type(each).__name__ != "function"]


async def test_what_handles_a_cancelled_request_may_wait_while_it_cleans_up() -> None:
    from gateway.mcp import server

    begun, cleaned = asyncio.Event(), asyncio.Event()

    async def handler(context: Any) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            cleaned.set()

    async with anyio.create_task_group() as group:
        group.start_soon(server.apart, None, handler)
        await begun.wait()
        group.cancel_scope.cancel()
    await server.settled()
    assert cleaned.is_set()
