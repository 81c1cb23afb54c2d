"""From what a model suggested to what will be recorded: every call passes the gates, in order, until one refuses."""

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.calls.proposing import NewCall
from audit.calls.recorder import Failure
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from tools.errors import ToolValidationError
from tools.gates import order
from tools.gates.checks import taint
from tools.gates.interface import Approval, Caller, Candidate, Gate, GateContext, GateResult, Occasion, Rights
from tools.gates.policy import Policy
from tools.interface import Tool
from tools.invocation import lookup, naming
from tools.labels import Label
from tools.schemas import arguments

log = logging.getLogger(__name__)

# What the column input_raw keeps of arguments that were not valid JSON.
RAW_CHARACTERS = 64 * 1024
# How often a model may correct the arguments of one tool within a run.
VALIDATION_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A call as a model made it: a name and raw argument text, neither of them trusted."""

    name: str
    arguments: str


async def evaluate(
    suggestions: Sequence[Suggestion],
    rights: Rights,
    caller: Caller,
    *,
    earlier_failures: Mapping[str, int] | None,
    most_seconds: float,
    gates: Iterable[Gate],
    new_id: Callable[[], uuid.UUID] = uuid7,
) -> list[NewCall]:
    """Each suggestion as a call to be recorded, in order; refused ones with their refusal, held ones with the id of
    the approval that they will wait for.

    `earlier_failures` counts the run's validation errors by tool, None for calls without a run; `most_seconds` caps a
    call's time. `gates` are iterated over once for each call. `new_id` names the calls in order once all are evaluated,
    and after each held one its approval.
    """
    failures = None if earlier_failures is None else Counter(earlier_failures)
    context = GateContext(rights.policy, caller, rights.rules)
    if len(suggestions) == 1:
        evaluated = [await _evaluate(suggestions[0], context, failures, gates)]
    else:
        # They are begun in order, and each goes on until its limit is asked about: all of them are, at once.
        evaluated = await asyncio.gather(*(_evaluate(each, context, failures, gates) for each in suggestions))
    return [each.as_call(position, most_seconds, new_id) for position, each in enumerate(evaluated)]


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """A suggestion after the gates."""

    candidate: Candidate
    raw: str | None
    tier: str | None
    answers: list[GateResult]
    refusal: Failure | None

    def as_call(self, position: int, most_seconds: float, new_id: Callable[[], uuid.UUID]) -> NewCall:
        tool, refusal = self.candidate.tool, self.refusal
        seconds = min(most_seconds, tool.timeout) if tool else most_seconds
        return NewCall(
            id=new_id(),
            position=position,
            tool_name=_name(self.candidate),
            tier=self.tier,
            input=self.candidate.arguments,
            input_raw=self.raw,
            params_hash=None if self.raw is not None else sha256_hex(self.candidate.arguments),
            decision=[answer.as_json() for answer in self.answers],
            time_limit_ms=int(seconds * 1000),
            approval_id=new_id() if refusal is None and any(answer.holds for answer in self.answers) else None,
            refusal=refusal,
        )


async def _evaluate(
    suggestion: Suggestion, context: GateContext, failures: Counter[str] | None, gates: Iterable[Gate]
) -> _Evaluated:
    """The suggestion after the gates, with a validation error counted before anything else is evaluated."""
    suggestion = _of_tool(context.policy, suggestion)
    tool = lookup.known(context.policy, suggestion.name)
    value: Any = None
    problem: ToolValidationError | None = None
    raw: str | None = None
    try:
        value = arguments.read(suggestion.arguments)
        arguments.require_object(value)
    except ToolValidationError as error:
        problem = error
        raw = _storable(suggestion.arguments) if value is None else None
    left = None if failures is None else VALIDATION_RETRIES - failures.get(suggestion.name, 0)
    candidate = Candidate(suggestion.name, tool, value, problem, left)
    answers, refusal = await _pass(candidate, context, gates)
    if refusal is not None:
        log.info("tool call refused", extra={"tool": _name(candidate), "code": refusal.code, "why": answers[-1].log})
        if failures is not None and refusal.code == "validation_error":
            failures[_name(candidate)] += 1
    return _Evaluated(candidate, raw, _tier(candidate, context, refusal), answers, refusal)


def _name(candidate: Candidate) -> str:
    return _storable(candidate.name)[:200]


def _tier(candidate: Candidate, context: GateContext, refusal: Failure | None) -> str | None:
    """The tier that the call is recorded with: what the gates went by, and with wrong arguments the tool's."""
    if candidate.tool is None:
        return None
    wrong = refusal is not None and refusal.code == "validation_error"
    return (context.policy.tier(candidate.tool) if wrong else context.tier(candidate)).value


def goes_by_taint(policy: Policy, suggestion: Suggestion) -> bool:
    """Whether it matters to a call what its session has read."""
    tool = lookup.known(policy, _of_tool(policy, suggestion).name)
    if tool is None or policy.taint == taint.OFF:
        return False
    return Label.LEAVES_TENANT in tool.labels or tool.least_tier is not None


def _of_tool(policy: Policy, suggestion: Suggestion) -> Suggestion:
    """The call of the tool that is meant: gates, limits, approvals and the record never see tools_call or an agent's
    function in its place."""
    inner = naming.named(suggestion.name, suggestion.arguments)
    if inner is not None:
        suggestion = Suggestion(naming.real(policy, inner[0]), inner[1])
    of_agent = naming.of_agent(policy, suggestion.name, suggestion.arguments)
    return suggestion if of_agent is None else Suggestion(*of_agent)


async def again(
    name: str, arguments: Any, rights: Rights, caller: Caller, approval: Approval
) -> tuple[list[GateResult], Failure | None]:
    """The gates' answers about a call that was approved and is about to go on, and its refusal, if any."""
    candidate = Candidate(name, lookup.known(rights.policy, name), arguments, retries_left=VALIDATION_RETRIES)
    context = GateContext(rights.policy, caller, rights.rules, approval)
    return await _pass(candidate, context, order.resumed_call())


async def _pass(
    candidate: Candidate, context: GateContext, gates: Iterable[Gate]
) -> tuple[list[GateResult], Failure | None]:
    answers: list[GateResult] = []
    for gate in gates:
        if not gate.concerns(candidate, context):
            continue
        answer = await _asked(gate, candidate, context)
        answers.append(answer)
        if not answer.ok:
            return answers, answer.failure
    return answers, None


async def _asked(gate: Gate, candidate: Candidate, context: GateContext) -> GateResult:
    answered = gate.check(candidate, context)
    return answered if isinstance(answered, GateResult) else await answered


def _storable(text: str) -> str:
    """The text as PostgreSQL can keep it: NUL and lone surrogates escaped, cut at RAW_CHARACTERS."""
    safe = text[:RAW_CHARACTERS].encode("utf-8", "backslashreplace").decode().replace("\x00", "\\u0000")
    return safe.encode()[:RAW_CHARACTERS].decode("utf-8", "ignore")


def offered(policy: Policy, agent: str = "", origin: str = "chat") -> tuple[Tool, ...]:
    """The tools that a model is offered: those whose call this user would not be refused as such, by the agent of this
    slug, over this way in."""

    def find() -> tuple[Tool, ...]:
        context = GateContext(policy, Caller(None, None, agent, origin, charge=False))
        gates = order.gates(Occasion.LISTED)
        return tuple(tool for tool in lookup.everything(policy) if _refusal(tool, gates, context) is None)

    return lookup.once(policy, (offered, agent, origin), find)


def offers(policy: Policy, tool: Tool, agent: str = "", origin: str = "chat") -> bool:
    """Whether a model of the agent may be offered this tool."""
    return refused_when_listed(tool, policy, agent, origin) is None


def refused_when_listed(tool: Tool, policy: Policy, agent: str, origin: str = "chat") -> GateResult | None:
    """Why a model is not offered the tool under the policy, through that agent; None when it is."""
    caller = Caller(None, None, agent, origin, charge=False)
    return _refusal(tool, order.gates(Occasion.LISTED), GateContext(policy, caller))


def _refusal(tool: Tool, gates: Iterable[Gate], context: GateContext) -> GateResult | None:
    candidate = Candidate(tool.name, tool, None)
    for gate in gates:
        if not gate.concerns(candidate, context):
            continue
        answer = gate.check(candidate, context)
        assert isinstance(answer, GateResult), f"the gate {gate.name} answers at once when tools are listed"
        if not answer.ok:
            return answer
    return None


async def access(tool: Tool, rights: Rights, caller: Caller) -> list[GateResult]:
    """Gate by gate, whether this user may call the tool now; nothing is counted, and arguments are not asked about."""
    candidate = Candidate(tool.name, tool, None)
    context = GateContext(rights.policy, caller, rights.rules)
    asked = (gate for gate in order.gates(Occasion.ACCESS) if gate.concerns(candidate, context))
    return [await _asked(gate, candidate, context) for gate in asked]
