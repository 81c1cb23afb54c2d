"""Chats as they become runs in somebody's hands: a request that begins one, or the rows of one that goes on."""

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from audit.calls import taint
from audit.identifiers import uuid4
from gateway.budgets import prices
from gateway.providers.interface import PromptMessage, ToolMessage, UserMessage
from gateway.providers.registry import UnknownModel
from gateway.providers.routing.resolution import ResolvedModel
from gateway.providers.translation.names import safe
from gateway.runs import loop, reading, repository
from gateway.runs.agents import members
from gateway.runs.agents.members import AgentMember
from gateway.runs.errors import NoSuchModel, ShadowsManagedTool
from gateway.runs.execution import Asked, RunExecution
from gateway.runs.live_ports import LIVE_PORTS
from gateway.runs.prompting import attachments, continuity, messages, serialization, transcripts
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.rows import NewRun, Run
from gateway.runs.turns import asking
from gateway.runs.view import RunView, from_rows
from tenants.errors import Refused
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.files.attached import Attached, Wanted
from tools.gates.interface import RightsChanged
from tools.invocation import evaluation
from tools.labels import TAINTS
from tools.offering import offer

# Of the client's tools whose results a transcript holds, and of a name: as many as are remembered.
_MOST_CLIENT_TOOLS, _MOST_NAME = 20, 100


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat request whose shape is already checked; `request_hash` covers its body, for the idempotency key.

    `draft` are fields of the agent that are tried before they are saved. `attachments` are files of the conversation,
    which then has an id. Over a compatible API, `surface`, `client` is
    what was asked, and `content` the last thing that the user said.
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
    draft: Mapping[str, Any] | None = None
    attachments: tuple[Wanted, ...] = ()


async def open(
    scope: TenantScope, request: ChatRequest, version: uuid.UUID | None = None, key_id: uuid.UUID | None = None
) -> RunExecution:
    """Write the user's message and the run, in progress and ours; with a `version`, only while the tenant's rights have
    that one. Raises RightsChanged where they do not, and nothing is written.

    `key_id` is of the API key that the request came with. Raises NoSuchConversation, NoSuchAgent, NoSuchModel,
    ModelNotAllowed, AttachmentRefused, NoSuchResponse, ShadowsManagedTool, Killed, BudgetExhausted, ModelUnpriced;
    UniqueViolation for a used idempotency key or a busy conversation.
    """
    while True:
        member = await members.under(scope, request.agent, request.draft)
        if version not in (None, member.version):
            if not member.remembered:
                raise RightsChanged
            members.forget(scope, request.agent)
            continue
        try:
            return await _opened(scope, request, member, key_id)
        except (RightsChanged, Refused) as changed:
            # Nobody is refused by what may have changed since it was read.
            if isinstance(changed, Refused) and not member.remembered:
                raise
            members.forget(scope, request.agent)


async def _opened(
    scope: TenantScope, request: ChatRequest, member: AgentMember, key_id: uuid.UUID | None
) -> RunExecution:
    """As `open`, for what is known of the member. Raises RightsChanged, and then nothing is written."""
    model, client = _model(scope, request, member), request.client
    if client is not None:
        _refuse_shadows(client, member)
    transcript: tuple[PromptMessage, ...] = ()
    shown: list[PromptMessage] = []
    conversation_id = request.conversation_id
    reads = conversation_id is not None if client is None else transcripts.refers(client)
    # Where nothing else is read or written, the run begins in a statement that is a transaction by itself.
    async with transaction(scope) if reads else nullcontext() as connection:
        if client is not None:
            transcript, known_runs = await transcripts.completed(connection, scope, client)
            shown, conversation_id = await continuity.restored(connection, scope.user_id, transcript, known_runs)
        new = _new(scope, request, member, model, conversation_id, key_id)
        # A key is remembered, and one that comes again asks for this run.
        told = request.streams or request.idempotency_key is not None
        run = await repository.begin(
            connection,
            new,
            version=member.version,
            new_conversation=conversation_id is None,
            request=None if client is None else serialization.dumps(client),
            told=told,
        )
        await _remember_results(connection, new, transcript)
        files: list[Attached] = []
        if request.attachments:
            assert connection is not None
            files = await attachments.attach(connection, new, request.attachments, model)
        if client is None:
            shown = await _said(connection, new, request.content, files)
    return RunExecution(
        view=RunView(run),
        scope=scope,
        shown=shown,
        deadline=time.monotonic() + member.profile["max_seconds"],
        streams=request.streams,
        ports=LIVE_PORTS,
        asked=Asked(client.client_tools, client.options) if client is not None else Asked(),
        transcript=transcript,
        known=member.rights,
        routing=member.routing,
        told=told,
    )


async def begin_unheld(connection: Connection, scope: TenantScope, request: ChatRequest, origin: str) -> Run:
    """Write the user's message and the run in the caller's transaction, in a new conversation, held by nobody: its
    clock stands still until a worker takes it over. `origin` is that of its calls.

    It goes by the rights of this moment. Raises NoSuchAgent, NoSuchModel, ModelNotAllowed, Killed, BudgetExhausted,
    ModelUnpriced; then nothing is written.
    """
    while True:
        member = await members.now(connection, scope, request.agent)
        new = _new(scope, request, member, _model(scope, request, member), None, None)
        new = replace(new, profile=new.profile | {"origin": origin})
        try:
            run = await repository.begin(connection, new, version=member.version, new_conversation=True)
        except RightsChanged:
            continue
        await repository.leave(connection, run)
        return run


def _new(
    scope: TenantScope,
    request: ChatRequest,
    member: AgentMember,
    model: ResolvedModel,
    conversation_id: uuid.UUID | None,
    key_id: uuid.UUID | None,
) -> NewRun:
    """What the run begins with; without a conversation in a new one."""
    return NewRun(
        id=uuid4(),
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        conversation_id=conversation_id or uuid4(),
        message_id=uuid4(),
        user_message_id=uuid4(),
        agent_id=member.agent_id,
        profile=member.profile,
        model=model.name,
        surface=request.surface,
        lease=settings.RUN_LEASE_SECONDS,
        idempotency_key=request.idempotency_key,
        request_hash=request.request_hash,
        content=request.content,
        title=request.content.strip()[:60],
        key_id=key_id,
        priced=prices.of(model.kind, model.model, model.price) is not None,
    )


async def _remember_results(connection: Connection | None, new: NewRun, transcript: tuple[PromptMessage, ...]) -> None:
    """Remember that the conversation has read the results of the client's own tools, of which nobody knows anything."""
    answered = sorted({message.name for message in transcript if isinstance(message, ToolMessage)})
    for name in answered[:_MOST_CLIENT_TOOLS]:
        await taint.add(
            connection,
            TenantScope(new.tenant_id, new.user_id),
            conversation_id=new.conversation_id,
            run_id=new.id,
            labels=TAINTS,
            source=f"{name[:_MOST_NAME]} (the client's)",
        )


async def reopen(scope: TenantScope, run_id: uuid.UUID) -> RunExecution | None:
    """Take a run that nobody holds, from its rows; None when somebody does, or when it waits for humans."""
    async with transaction(scope) as connection:
        taken = await repository.take_over(connection, run_id, settings.RUN_LEASE_SECONDS)
        if taken is None:
            return None
        run = taken.run
        shown, asked, transcript = await led_up_to(connection, scope, run)
        view = from_rows(run, await reading.turns(connection, run_id), await reading.calls(connection, run_id))
        charged = await _charged(connection, view)
    deadline = time.monotonic() + run.profile["max_seconds"] - taken.elapsed - charged
    # Who watches a run that is taken over reads its text as it comes. The client of a compatible API has gone, and what
    # it has read could not be taken back.
    streams = not run.surface
    return RunExecution(
        view, scope, shown, deadline, streams=streams, ports=LIVE_PORTS, asked=asked, transcript=transcript
    )


async def _charged(connection: Connection, view: RunView) -> float:
    """Seconds of the run's time that its children have used."""
    if not any(call.waits_on_run for turn in view.turns for call in turn.calls):
        return 0.0
    row = await (await connection.execute("SELECT charged_ms(%s) AS ms", [view.id])).fetchone()
    return row["ms"] / 1000 if row else 0.0


async def led_up_to(
    connection: Connection, scope: TenantScope, run: Run
) -> tuple[list[PromptMessage], Asked, tuple[PromptMessage, ...]]:
    """What a run began with, out of the rows: the messages before its own turns, what its client brought along, and
    the transcript as the client sent it."""
    if kept_request := await reading.request(connection, run.id) if run.surface else None:
        client = serialization.loads(kept_request)
        transcript, known_runs = await transcripts.completed(connection, scope, client)
        shown, _ = await continuity.restored(connection, scope.user_id, transcript, known_runs)
        return shown, Asked(client.client_tools, client.options), transcript
    content, stored = await reading.user_message(connection, run)
    return await _said(connection, run, content, [Attached.of(each) for each in stored]), Asked(), ()


def _model(scope: TenantScope, request: ChatRequest, member: AgentMember) -> ResolvedModel:
    """The model that is asked for, when it or a fallback of it may be asked."""
    try:
        found = member.routing.route(request.model or member.model, loop.providers())
        asking.not_killed(found, member.rights.policy.switches, scope.user_id, member.profile["slug"])
        return found[0]
    except UnknownModel as unknown:
        raise NoSuchModel(unknown.message) from None


def _refuse_shadows(client: ClientRequest, member: AgentMember) -> None:
    """A name must not be a managed tool's and the client's: nobody could say whose a call of it is."""
    if not client.client_tools:
        return
    policy = member.rights.policy
    offered = offer.of_agent(policy, member.profile).tools
    managed = {safe(tool.name) for tool in (*evaluation.offered(policy), *offered)}
    for at, tool in enumerate(client.client_tools):
        if tool.parameters is not None and safe(tool.name) in managed:
            raise ShadowsManagedTool(tool.name, f"tools[{at}]")


async def _said(
    connection: Connection | None, run: Run | NewRun, content: str, files: Sequence[Attached]
) -> list[PromptMessage]:
    """What was said in the conversation before the run, and to begin it, with the files that this refers to."""
    if connection is None:
        return [UserMessage(content)]
    runs, turns, calls = await reading.past(connection, run.conversation_id, run.id, messages.MOST_RUNS)
    referred = [(run.id, files), *((each.id, [Attached.of(file) for file in each.attachments]) for each in runs)]
    parts = await attachments.parts(connection, referred)
    past = messages.of_past(runs, turns, calls, run.profile["max_result_bytes"], parts)
    return [*past, attachments.said(content, parts.get(run.id, ()))]
