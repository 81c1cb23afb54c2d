"""A client of a compatible API that takes what it is sent late, while its run goes on."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.compat import serving
from gateway.compat.chat_completions.api import API as CHAT_COMPLETIONS
from gateway.compat.interface import CompatApi
from gateway.compat.messages.api import API as MESSAGES
from gateway.compat.responses.api import API as RESPONSES
from gateway.providers.interface import UserMessage
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.view import TurnView
from tenants.scope.transactions import TenantScope
from tests.gateway.runs.driven import driven
from tests.gateway.runs.rows import call_row, turn, view

REQUEST = ClientRequest("offline/demo", (UserMessage("Save it."),), stream=True)


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
@pytest.mark.parametrize("api", [CHAT_COMPLETIONS, MESSAGES, RESPONSES], ids=lambda api: str(api.name))
async def test_what_was_said_meanwhile_is_sent_before_the_streams_end(api: CompatApi, status: str) -> None:
    saying = turn(1, "I will ")
    run = view(saying)
    run.run = replace(run.run, turns=0)
    exchange = cast(Any, SimpleNamespace(tenant_scope=TenantScope(run.run.tenant_id, run.run.user_id)))
    writer = api.writer(id=run.id.hex, created=0, model="offline/demo", request=REQUEST)
    async with driven(run):
        pieces = serving._events(exchange, writer, run, REQUEST, 0)
        sent = [await anext(pieces), await anext(pieces)]
        assert b"I will " in sent[1]
        saying.say("save it.")
        saying.calls = [call_row(1, 0, "success")]
        run.turns.append(TurnView(2, 100))
        run.run = replace(run.run, status=status, turns=1, error_code=None if status == "completed" else "e")
        sent += [piece async for piece in pieces]
    assert b"save it." in b"".join(sent[2:])
