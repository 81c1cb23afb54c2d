"""Chats as they become runs in somebody's hands: a request that begins one, or the rows of one that goes on."""

import time
import uuid
from contextlib import nullcontext
from dataclasses import dataclass

from django.conf import settings

from gateway.providers.interface import PromptMessage, UserMessage
from gateway.providers.names import safe
from gateway.providers.registry import UnknownModel
from gateway.runs import loop, members, repository
from gateway.runs.errors import NoSuchModel, ShadowsManagedTool
from gateway.runs.execution import Asked, RunExecution
from gateway.runs.live_ports import LIVE_PORTS
from gateway.runs.members import AgentMember
from gateway.runs.prompting import continuity, messages, serialization, transcripts
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.rows import NewRun, Run
from gateway.runs.view import RunView, from_rows
from tenants.errors import Refused
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import Rights, RightsChanged
from tools.invocation import evaluation


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat request whose shape is already checked; `request_hash` covers its body, for the idempotency key.

    Over a compatible API, `surface`, `client` is what was asked, and `content` the last thing that the user said.
    """

    content: str
    conversation_id: uuid.UUID | None = None
    agent: str | None = None
    model: str | None = None
    streams: bool = False
    idempotency_key: str | None = None
    request_hash: bytes | None = None
    surface: str = ""
    client: ClientRequest | None = None


async def open(scope: TenantScope, request: ChatRequest) -> RunExecution:
    """Write the user's message and the run, in progress and ours.

    Raises NoSuchConversation, NoSuchAgent, NoSuchModel, NoSuchResponse, ShadowsManagedTool; UniqueViolation for a used
    idempotency key or a busy conversation.
    """
    while True:
        member = await members.under(scope, request.agent)
        try:
            return await _opened(scope, request, member)
        except (RightsChanged, Refused) as changed:
            # Nobody is refused by what may have changed since it was read.
            if isinstance(changed, Refused) and not member.remembered:
                raise
            members.forget(scope, request.agent)


async def _opened(scope: TenantScope, request: ChatRequest, member: AgentMember) -> RunExecution:
    """As `open`, for what is known of the member. Raises RightsChanged, and then nothing is written."""
    model, client = _model(request, member), request.client
    if client is not None:
        _refuse_shadows(client, member.rights)
    transcript: tuple[PromptMessage, ...] = ()
    shown: list[PromptMessage] = []
    conversation_id = request.conversation_id
    reads = conversation_id is not None if client is None else transcripts.refers(client)
    # Where nothing else is read or written, the run begins in a statement that is a transaction by itself.
    async with transaction(scope) if reads else nullcontext() as connection:
        if client is not None:
            transcript, known_runs = await transcripts.whole(connection, scope, client)
            shown, conversation_id = await continuity.restored(connection, scope.user_id, transcript, known_runs)
        new = NewRun(
            id=uuid.uuid4(),
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            conversation_id=conversation_id or uuid.uuid4(),
            message_id=uuid.uuid4(),
            user_message_id=uuid.uuid4(),
            agent_id=member.agent_id,
            profile=member.profile,
            model=model,
            surface=request.surface,
            lease=settings.RUN_LEASE_SECONDS,
            idempotency_key=request.idempotency_key,
            request_hash=request.request_hash,
            content=request.content,
            title=request.content.strip()[:60],
        )
        await repository.begin(
            connection,
            new,
            version=member.version,
            new_conversation=conversation_id is None,
            request=None if client is None else serialization.dumps(client),
        )
        if client is None and connection is not None:
            shown = await _past(connection, new)
    return RunExecution(
        view=RunView(new.begun()),
        scope=scope,
        shown=shown if client is not None else [*shown, UserMessage(request.content)],
        deadline=time.monotonic() + member.profile["max_seconds"],
        streams=request.streams,
        ports=LIVE_PORTS,
        asked=Asked(client.client_tools, client.options) if client is not None else Asked(),
        transcript=transcript,
        known=member.rights,
    )


async def reopen(scope: TenantScope, run_id: uuid.UUID) -> RunExecution | None:
    """Take a run that nobody holds, from its rows; None when somebody does, or when it waits for humans."""
    async with transaction(scope) as connection:
        taken = await repository.take_over(connection, run_id, settings.RUN_LEASE_SECONDS)
        if taken is None:
            return None
        run = taken.run
        shown, asked, transcript = await led_up_to(connection, scope, run)
        view = from_rows(run, await repository.turns(connection, run_id), await repository.calls(connection, run_id))
    deadline = time.monotonic() + run.profile["max_seconds"] - taken.elapsed
    # Who watches a run that is taken over reads its text as it comes. The client of a compatible API has gone, and what
    # it has read could not be taken back.
    streams = not run.surface
    return RunExecution(
        view, scope, shown, deadline, streams=streams, ports=LIVE_PORTS, asked=asked, transcript=transcript
    )


async def led_up_to(
    connection: Connection, scope: TenantScope, run: Run
) -> tuple[list[PromptMessage], Asked, tuple[PromptMessage, ...]]:
    """What a run began with, out of the rows: the messages before its own turns, what its client brought along, and
    the transcript as the client sent it."""
    if kept_request := await repository.request(connection, run.id) if run.surface else None:
        client = serialization.loads(kept_request)
        transcript, known_runs = await transcripts.whole(connection, scope, client)
        shown, _ = await continuity.restored(connection, scope.user_id, transcript, known_runs)
        return shown, Asked(client.client_tools, client.options), transcript
    said = await repository.user_message(connection, run)
    return [*await _past(connection, run), UserMessage(said)], Asked(), ()


def _model(request: ChatRequest, member: AgentMember) -> str:
    model = request.model or loop.model_of(member.model)
    try:
        loop.providers().resolve(model)
    except UnknownModel as unknown:
        raise NoSuchModel(unknown.message) from None
    return model


def _refuse_shadows(client: ClientRequest, known: Rights) -> None:
    """A name must not be a managed tool's and the client's: nobody could say whose a call of it is."""
    if not client.client_tools:
        return
    managed = {safe(tool.name): tool.name for tool in evaluation.offered(known.policy)}
    for at, tool in enumerate(client.client_tools):
        if tool.parameters is not None and safe(tool.name) in managed:
            raise ShadowsManagedTool(tool.name, f"tools[{at}]")


async def _past(connection: Connection, run: Run | NewRun) -> list[PromptMessage]:
    rows = await repository.past(connection, run.conversation_id, run.id, messages.MOST_RUNS)
    return messages.of_past(*rows, run.profile["max_result_bytes"])
