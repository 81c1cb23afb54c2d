"""How a call begins a child: the handle `children` of the tools that do.

The child's run, its conversation and the state of the call are one commit: a lost process leaves a queued call and no
child, or a call that waits for a run which the sweeper finds. What the child may do is in its profile, made here once:
the tools of its agent and of every run above it, the lower tier, what its parent has left, and who hears its requests.
"""

import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from psycopg.errors import UniqueViolation

from approvals.requests import callers_rights
from audit.calls import taint
from audit.calls.rows import ToolCall
from gateway.budgets import bounds, prices
from gateway.providers.registry import UnknownModel
from gateway.providers.routing import resolution
from gateway.providers.routing.resolution import ResolvedModel
from gateway.runs import loop, reading, repository
from gateway.runs.agents import members
from gateway.runs.children import answers
from gateway.runs.conversations import sessions
from gateway.runs.rows import NewRun, Run
from gateway.runs.turns import asking
from tenants.errors import Refused
from tenants.people.changes import plain
from tenants.scope import rows
from tenants.scope.functions import Function
from tenants.scope.transactions import Connection, TenantScope
from tools.errors import ToolPermissionDenied, ToolUnavailable, ToolValidationError
from tools.gates.interface import RightsChanged
from tools.interface import Tier
from tools.registry import registry

# What the least turn is reserved at.
_LEAST = bounds.LEAST_INPUT, bounds.LEAST_OUTPUT
# Of the parent's seconds: it has to make something of the answer.
_SHARE = 0.75
_ROOM = Function(
    "room_for_child",
    lambda outcome, *has: (outcome, Left(*has[:4]), None if has[4] is None else Run(*has[4:])),
    columns=f"outcome, turns, seconds, tokens, usd, {rows.columns_of(Run, 'run')}",
    run_id="uuid", call_id="uuid", beginning="text[]", deepest="int4", widest="int4",
)  # fmt: skip
_TIE = """
    WITH child AS (
        UPDATE runs SET parent_run_id = %(parent)s, parent_call_id = %(call)s, root_run_id = %(root)s,
            depth = %(depth)s, kind = %(kind)s
        WHERE id = %(id)s RETURNING conversation_id, kind)
    UPDATE conversations c SET kind = child.kind, parent_id = %(conversation)s FROM child
    WHERE c.id = child.conversation_id"""
# Of one that was there before, nothing changes but that the run is in it.
_TIE_RUN = """
    UPDATE runs SET parent_run_id = %(parent)s, parent_call_id = %(call)s, root_run_id = %(root)s, depth = %(depth)s,
        kind = %(kind)s
    WHERE id = %(id)s"""
_SESSION = """
    SELECT c.id, (SELECT r.profile ->> 'slug' FROM runs r WHERE r.conversation_id = c.id
            ORDER BY r.created_at DESC LIMIT 1) AS agent,
        EXISTS (SELECT FROM runs r WHERE r.conversation_id = c.id AND r.finished_at IS NULL) AS busy
    FROM conversations c WHERE c.id = %s AND c.user_id = %s"""
_OF_PARENT = "SELECT agent_id, key_id FROM runs WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Left:
    """What a run has left of its limits for a child; `tokens` and `usd`: None without a limit."""

    turns: int
    seconds: float
    tokens: int | None
    usd: Decimal | None


@dataclass(frozen=True, slots=True)
class ChildrenOfCall:
    """See `tools.handles.Children`."""

    connection: Connection
    call: ToolCall

    async def begin(
        self, *, task: str, agent: str | None, context: str | None, output_schema: dict[str, Any] | None = None
    ) -> uuid.UUID:
        """In the call's own transaction."""
        brief = _brief(task, context)
        if output_schema is not None:
            brief = f"{brief}\n\n{answers.demand(output_schema)}"
        return await self._begin(brief, agent, None)

    async def send(self, *, session_id: str, message: str) -> uuid.UUID:
        """In the call's own transaction."""
        session = await (
            await self.connection.execute(_SESSION, [sessions.id_of(session_id), self.call.user_id])
        ).fetchone()
        if session is None:
            raise sessions.no_session(session_id)
        busy = ToolUnavailable("That session has a run that is not over. Send the message once it is.")
        if session["busy"]:
            raise busy
        try:
            return await self._begin(message, session["agent"], session["id"])
        except UniqueViolation:
            raise busy from None

    async def _begin(self, brief: str, agent: str | None, session: uuid.UUID | None) -> uuid.UUID:
        """Begin a run in a session, or without one in a new conversation."""
        parent, left = await self._room()
        own = parent.profile.get("slug", "")
        slug = agent or own
        if slug != own and not _may_name(parent, slug):
            raise ToolPermissionDenied(
                f"The agent {own} may not begin runs of {slug[:80]!a}: it is not among its tools. "
                "An owner of the tenant can add it to the agent (/settings/agents/)."
            )
        while True:
            row = await reading.context(self.connection, self.call.user_id, slug)
            if row is None or row["agent_id"] is None:
                raise ToolValidationError(f"There is no agent {slug[:80]!a} in this tenant.", "agent")
            profile = _profile(parent, members.profile_of(row) if slug != own else parent.profile, left)
            model = self._model(row, profile, row["model"] if slug != own else parent.model)
            price = prices.of(model.kind, model.model, model.price)
            if left.usd is not None and price is not None and left.usd < price.most(*_LEAST):
                most = f"cost US${parent.profile['max_run_usd']}"
                raise _too_little(most, f"too little of that is left for {model.name}")
            try:
                return await self._begun(parent, row, profile, model, price is not None, brief, session)
            except RightsChanged:
                continue
            except Refused as refused:
                raise ToolUnavailable(f"No run was begun: {refused.detail}") from None

    async def _room(self) -> tuple[Run, Left]:
        """The parent, locked, and what a child of it may have. Raises ToolError."""
        assert self.call.run_id is not None, "only a run's calls have the handle"
        scope = TenantScope(self.call.tenant_id, self.call.user_id)
        deepest, widest = settings.TOOLGATE_MAX_CHILD_DEPTH, settings.TOOLGATE_MAX_CHILDREN
        beginning = [tool.name for tool in registry().all() if "children" in tool.handles]
        values = {"run_id": self.call.run_id, "call_id": self.call.id, "beginning": beginning}
        values |= {"deepest": deepest, "widest": widest}
        [(outcome, left, parent)] = await _ROOM.within(self.connection, scope, **values)
        if outcome == "deep":
            raise ToolPermissionDenied(
                f"Runs may begin others {deepest} levels deep, and this one is at the last level. Do the task here. "
                "Only the operator can allow more (TOOLGATE_MAX_CHILD_DEPTH)."
            )
        if outcome == "wide":
            raise ToolPermissionDenied(
                f"This run has begun {widest} others, which is the most. Do the rest here. "
                "Only the operator can allow more (TOOLGATE_MAX_CHILDREN)."
            )
        if outcome != "room" or parent is None:
            raise ToolUnavailable("This run is over, so it begins no other one.")
        # It needs a turn itself, to make something of the answer.
        left = Left(left.turns - 1, int(left.seconds * _SHARE), left.tokens, left.usd)
        if left.turns < 1 or left.seconds < 1:
            raise ToolUnavailable(
                "This run has too few turns or too little time left to begin another one. Answer with what is known."
            )
        if left.tokens is not None and left.tokens < bounds.LEAST_TURN:
            raise _too_little(f"use {parent.profile['max_run_tokens']:,} tokens", "too few of them are left")
        return parent, left

    def _model(self, row: dict[str, Any], profile: dict[str, Any], wanted: str) -> ResolvedModel:
        """The child's model, where it may be asked. Raises ToolUnavailable."""
        routing = resolution.remembered(self.call.tenant_id, row["rights_version"], row["model_routing"])
        switches = callers_rights.from_row(row, profile).policy.switches
        try:
            found = routing.route(loop.model_of(wanted), loop.providers())
            asking.not_killed(found, switches, self.call.user_id, profile["slug"])
        except UnknownModel as unknown:
            raise ToolUnavailable(f"No run was begun: {unknown.message}") from None
        except Refused as refused:
            raise ToolUnavailable(f"No run was begun: {refused.detail}") from None
        return found[0]

    async def _begun(
        self,
        parent: Run,
        row: dict[str, Any],
        profile: dict[str, Any],
        model: ResolvedModel,
        priced: bool,
        brief: str,
        session: uuid.UUID | None,
    ) -> uuid.UUID:
        """The new run's id: nobody drives it yet. Raises RightsChanged and BudgetRefusal, and then there is none."""
        found = await (await self.connection.execute(_OF_PARENT, [parent.id])).fetchone()
        assert found is not None, "it is locked"
        new = NewRun(
            id=uuid.uuid4(),
            tenant_id=parent.tenant_id,
            user_id=parent.user_id,
            conversation_id=session or uuid.uuid4(),
            message_id=uuid.uuid4(),
            user_message_id=uuid.uuid4(),
            agent_id=row["agent_id"],
            profile=profile,
            model=model.name,
            surface="",
            lease=0,
            idempotency_key=None,
            request_hash=None,
            content=brief,
            title=brief.strip()[:60],
            key_id=found["key_id"],
            priced=priced,
        )
        await repository.begin(self.connection, new, version=row["rights_version"], new_conversation=session is None)
        values = {
            "id": new.id,
            "parent": parent.id,
            "call": self.call.id,
            "root": parent.root_run_id or parent.id,
            "depth": parent.depth + 1,
            "kind": "worker",
            "conversation": parent.conversation_id,
        }
        await self.connection.execute(_TIE if session is None else _TIE_RUN, values)
        # The task and the context are written by who has read this.
        scope = TenantScope(parent.tenant_id, parent.user_id)
        flowing = {"from_conversation": parent.conversation_id, "to_conversation": new.conversation_id}
        await taint.flow(self.connection, scope, **flowing, to_run=new.id)
        return new.id


def _may_name(parent: Run, slug: str) -> bool:
    """Whether the parent, and every run above it, has the agent among its tools."""
    return _in_all([parent.profile["tools"], *_within(parent)], slug)


def _in_all(lists: list[Any], slug: str) -> bool:
    return all(tools == "all" or slug in tools for tools in lists)


def _within(parent: Run) -> list[Any]:
    return list(parent.profile.get("within", ()))


def _profile(parent: Run, of_agent: dict[str, Any], left: Left) -> dict[str, Any]:
    """The agent's profile within the parent's: no limit of it is higher."""
    within = [*_within(parent), parent.profile["tools"]]
    agents = {slug: name for slug, name in (of_agent.get("agents") or {}).items() if _in_all(within, slug)}
    tokens = [each for each in (of_agent.get("max_run_tokens"), left.tokens) if each is not None]
    money = [Decimal(each) for each in (of_agent.get("max_run_usd"), left.usd) if each is not None]
    tiers = [Tier(tier) for tier in (parent.profile.get("max_tier"), of_agent.get("max_tier")) if tier]
    return of_agent | {
        "origin": parent.profile.get("origin", "chat"),
        "max_tier": min(tiers, key=lambda tier: tier.rank).value if tiers else "",
        "max_turns": min(of_agent["max_turns"], left.turns),
        "max_seconds": min(of_agent["max_seconds"], int(left.seconds)),
        "max_run_tokens": min(tokens) if tokens else None,
        "max_run_usd": plain(min(money)) if money else None,
        "tool_seconds": min(of_agent["tool_seconds"], parent.profile["tool_seconds"]),
        "within": within,
        "agents": agents,
        "channel": parent.profile.get("channel", str(parent.id)),
    }


def _too_little(most: str, left: str) -> ToolUnavailable:
    return ToolUnavailable(
        f"This run and all that it begins may {most}, and {left} to begin another one. Answer with what is known. "
        "An owner of the tenant can raise the agent's limit (/settings/agents/)."
    )


def _brief(task: str, context: str | None) -> str:
    return f"{task}\n\nContext:\n{context}" if context else task
