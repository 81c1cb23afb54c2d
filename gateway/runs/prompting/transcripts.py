"""A transcript made whole: the responses that it goes on from, and those that it only refers to, in their places."""

import uuid

from gateway.providers.interface import AssistantMessage, PromptMessage, SystemMessage
from gateway.runs import reading
from gateway.runs.errors import NoSuchResponse
from gateway.runs.prompting import continuity, serialization
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.prompting.pairing import paired
from gateway.runs.rows import Run
from gateway.runs.view import turn_views
from tenants.scope.transactions import Connection, TenantScope

# Responses that go on from one another, all the way back.
MOST_RESPONSES = 100


def refers(client: ClientRequest) -> bool:
    """Whether a request names runs, or holds answers that runs may be found by: only then anything is read."""
    return bool(client.previous or client.references or continuity.goes_on(client.messages))


async def completed(
    connection: Connection | None, scope: TenantScope, client: ClientRequest
) -> tuple[tuple[PromptMessage, ...], dict[int, Run]]:
    """The client's messages after those of the response that it goes on from, and the runs whose answers it named, by
    their place among them. One that does not refer to any needs no connection. Raises NoSuchResponse, BadRequest."""
    messages, named = await _own(connection, scope, client)
    previous, steps = client.previous, 0
    while previous is not None:
        steps += 1
        if steps > MOST_RESPONSES:
            raise NoSuchResponse(f"resp_{previous}")
        assert connection is not None
        run, said = await _answer(connection, scope, previous)
        kept_request = await reading.request(connection, run.id)
        if kept_request is None:
            raise NoSuchResponse(f"resp_{previous}")
        earlier = serialization.loads(kept_request)
        before, named_before = await _own(connection, scope, earlier)
        named = named_before | {len(before): run} | _shifted(named, len(before) + 1)
        messages = [*before, said, *messages]
        previous = earlier.previous
    if client.instructions:
        messages, named = [SystemMessage(client.instructions), *messages], _shifted(named, 1)
    # What stands for itself was looked at when it came in.
    return (paired(messages) if named else tuple(messages)), named


async def _own(
    connection: Connection | None, scope: TenantScope, client: ClientRequest
) -> tuple[list[PromptMessage], dict[int, Run]]:
    """A request's own messages, with the answers that it refers to."""
    messages = list(client.messages)
    named: dict[int, Run] = {}
    for at, run_id in client.references:
        assert connection is not None
        named[at], messages[at] = await _answer(connection, scope, run_id)
    return messages, named


async def _answer(connection: Connection, scope: TenantScope, run_id: str) -> tuple[Run, AssistantMessage]:
    """A run of the user's, and its answer as its client saw it. Raises NoSuchResponse."""
    run = await reading.run(connection, scope, uuid.UUID(run_id))
    if run is None or not run.surface:
        raise NoSuchResponse(f"resp_{run_id}")
    turns = turn_views(*await reading.of_runs(connection, [run.id]))
    waited = [call for turn in turns for call in turn.calls if call.approval_id]
    return run, continuity.visible(turns, continuity.notice(waited) if waited else "")


def _shifted(named: dict[int, Run], by: int) -> dict[int, Run]:
    return {at + by: run for at, run in named.items()}
