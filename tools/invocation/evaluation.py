"""From what a model suggested to what will be recorded: every call passes the gates, in order, until one refuses."""

import inspect
import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.calls.recorder import Failure, NewCall
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from tools.errors import ToolValidationError
from tools.gates import tool_gates
from tools.gates.policy import Policy
from tools.gates.tool_gates import Answer, Caller, Candidate, Gate
from tools.interface import Tool
from tools.registry import registry
from tools.schemas import arguments

log = logging.getLogger(__name__)

# What the column input_raw keeps of arguments that were not valid JSON.
RAW_CHARACTERS = 64 * 1024


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A call as a model made it: a name and raw argument text, neither of them trusted."""

    name: str
    arguments: str


async def evaluate(
    suggestions: Sequence[Suggestion],
    policy: Policy,
    caller: Caller,
    *,
    earlier_failures: Mapping[str, int],
    most_seconds: float,
    through: Iterable[Gate],
    new_id: Callable[[], uuid.UUID] = uuid7,
) -> list[NewCall]:
    """Each suggestion as a call to be recorded, in order; refused ones with their refusal, held ones with the id of
    the approval that they will wait for.

    `earlier_failures` counts the run's validation errors by tool; `most_seconds` caps a call's time. `new_id` names
    each call, and after it the approval of a held one.
    """
    failures = Counter(earlier_failures)
    evaluated = []
    for position, suggestion in enumerate(suggestions):
        call = await _evaluate(position, suggestion, policy, caller, failures, most_seconds, through, new_id)
        if call.refusal is not None and call.refusal.code == "validation_error":
            failures[call.tool_name] += 1
        evaluated.append(call)
    return evaluated


async def _evaluate(
    position: int,
    suggestion: Suggestion,
    policy: Policy,
    caller: Caller,
    failures: Mapping[str, int],
    most_seconds: float,
    through: Iterable[Gate],
    new_id: Callable[[], uuid.UUID],
) -> NewCall:
    tool = registry().get(suggestion.name)
    value: Any = None
    problem: ToolValidationError | None = None
    raw: str | None = None
    try:
        value = arguments.read(suggestion.arguments)
        arguments.require_object(value)
    except ToolValidationError as error:
        problem = error
        raw = _storable(suggestion.arguments) if value is None else None
    candidate = Candidate(suggestion.name, tool, value, problem, failures.get(suggestion.name, 0))
    answers, refusal = await _pass(candidate, policy, caller, through)
    name = _storable(suggestion.name)[:200]
    if refusal is not None:
        log.info("tool call refused", extra={"tool": name, "code": refusal.code, "why": answers[-1].log})
    seconds = min(most_seconds, tool.timeout) if tool else most_seconds
    return NewCall(
        id=new_id(),
        position=position,
        tool_name=name,
        tier=policy.tier(tool).value if tool else None,
        input=value,
        input_raw=raw,
        params_hash=None if raw is not None else sha256_hex(value),
        decision=[answer.as_json() for answer in answers],
        time_limit_ms=int(seconds * 1000),
        approval_id=new_id() if refusal is None and any(answer.holds for answer in answers) else None,
        refusal=refusal,
    )


async def again(
    name: str, arguments: Any, policy: Policy, caller: Caller, through: Iterable[Gate]
) -> tuple[list[Answer], Failure | None]:
    """The gates' answers about a call that was judged before and is about to go on, and its refusal, if any."""
    return await _pass(Candidate(name, registry().get(name), arguments, None, 0), policy, caller, through)


async def _pass(
    candidate: Candidate, policy: Policy, caller: Caller, through: Iterable[Gate]
) -> tuple[list[Answer], Failure | None]:
    answers: list[Answer] = []
    for gate in through:
        answered = gate(candidate, policy, caller)
        answer = await answered if inspect.isawaitable(answered) else answered
        answers.append(answer)
        if not answer.ok:
            return answers, answer.failure
    return answers, None


def _storable(text: str) -> str:
    """The text as PostgreSQL can keep it: NUL and lone surrogates escaped, cut at RAW_CHARACTERS."""
    safe = text[:RAW_CHARACTERS].encode("utf-8", "backslashreplace").decode().replace("\x00", "\\u0000")
    return safe.encode()[:RAW_CHARACTERS].decode("utf-8", "ignore")


def offered(policy: Policy) -> list[Tool]:
    """The tools that a model is told about: those whose call this user would not be refused as such."""
    nobody = Caller(None, None, charge=False)
    return [
        tool
        for tool in registry().all()
        if all(
            gate(Candidate(tool.name, tool, {}, None, 0), policy, nobody).ok
            for gate in (tool_gates.allowlist, tool_gates.permission)
        )
    ]


async def access(tool: Tool, policy: Policy, caller: Caller, through: Iterable[Gate]) -> list[Answer]:
    """Gate by gate, whether this user may call the tool now; nothing is counted, and arguments are not asked about."""
    candidate = Candidate(tool.name, tool, None, None, 0)
    answers = []
    for gate in through:
        if gate is not tool_gates.arguments:
            answered = gate(candidate, policy, caller)
            answers.append(await answered if inspect.isawaitable(answered) else answered)
    return answers
