"""What a gate is: its check, its refusal code and its label, what it is given, and what it answers."""

import dataclasses
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any, ClassVar

from audit.calls.recorder import Failure
from tools.errors import ToolValidationError
from tools.gates.policy import Policy
from tools.gates.tenant_rules import Rule
from tools.interface import CallFacts, Tier, Tool
from tools.labels import TAINTS, UNTRUSTED
from tools.schemas.effort import Effort


class Occasion(Enum):
    """When gates are asked; each gate names the occasions on which it is."""

    NEW = auto()
    """A new call, before it is recorded."""
    RESUMED = auto()
    """A call that humans approved, before it is queued."""
    ACCESS = auto()
    """A user's question whether they may call a tool: without arguments, and nothing is counted."""
    LISTED = auto()
    """Whether a model is offered the tool. Such a gate answers at once, without arguments, and as long as the policy
    is the same the same, unless the tenant has conditions."""
    MIXED = auto()
    """A managed call of a turn that also calls the client's own tools, in an order that nobody can answer."""


ASKED = frozenset({Occasion.NEW, Occasion.RESUMED, Occasion.ACCESS})


class RightsChanged(Exception):
    """The rights that calls were evaluated by are not the user's any more: evaluate again, by today's."""


class RulesExhausted(Exception):
    """A rule was used up, switched off or ran out after it had let a call through: evaluate again."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What the gates go by: the member's policy and the rules that concern them. Two that are equal decide alike.

    They hold while the tenant's rights have this `version`, and until `valid_until`, when the next rule expires.
    """

    policy: Policy
    rules: tuple[Rule, ...]
    version: uuid.UUID | None = field(default=None, compare=False)
    valid_until: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Approval:
    """What humans approved, and until when it may be used; `counting`: how many of the approvers may decide now."""

    tool_name: str
    user_id: uuid.UUID
    schema_hash: str
    params_hash: str
    usable_until: datetime
    approvals_needed: int
    counting: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A suggested call before the gates: `problem` is why its raw arguments could not be parsed, if so.

    `retries_left`: how often its caller may still correct the arguments; None: nobody counts. Without `arguments` the
    question is what holds for any.
    """

    name: str
    tool: Tool | None
    arguments: Any
    problem: ToolValidationError | None = None
    retries_left: int | None = None

    @property
    def known_tool(self) -> Tool:
        """The tool, for gates after the allowlist, which refuses unknown ones."""
        assert self.tool is not None
        return self.tool


@dataclass(frozen=True, slots=True)
class TaintSource:
    """That private data, or what strangers wrote, was read (`label`, see `tools.labels`): from which `source`, such as
    a tool, by which `call` last, if it was one, and when (ISO 8601)."""

    label: str
    source: str
    at: str
    call: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As decisions record it."""
        return {"label": self.label, "source": self.source, "call": self.call, "at": self.at}


@dataclass(frozen=True, slots=True)
class Taint:
    """What a session has read, the newest first, and what its user has said in their own words.

    That of a call without a conversation is empty: nobody has read anything in it.
    """

    sources: tuple[TaintSource, ...] = ()
    own_words: tuple[str, ...] = field(default=(), repr=False)

    @property
    def labels(self) -> frozenset[str]:
        """What has been read."""
        return frozenset(each.label for each in self.sources)

    @property
    def complete(self) -> bool:
        """Whether the session has read both private data and what strangers wrote."""
        return self.labels >= TAINTS

    def of(self, label: str) -> list[TaintSource]:
        """Where what has the label was read, the newest first."""
        return [each for each in self.sources if each.label == label]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose limits a call is charged to, the slug of the agent that calls, "" for a call without an agent, how the call
    came in, and which model ("provider/model") suggests it, "" without one.

    With `charge` False the limits are only looked at; `charged`: this call has been counted before. `taint` is what its
    session has read; None: that is not known.
    """

    tenant_id: Any
    user_id: Any
    agent: str = ""
    origin: str = "chat"
    charge: bool = True
    charged: bool = False
    model: str = ""
    taint: Taint | None = Taint()


@dataclass(frozen=True, slots=True)
class GateContext:
    """What every gate may go by, in one evaluation of one or more calls.

    `approval` is set for a call that goes on. `effort` bounds the conditions of all rules together, and `used` counts
    the calls that each rule has approved: a rule approves no more of them than it has uses. `now` is one moment
    for all.
    """

    policy: Policy
    caller: Caller
    rules: Sequence[Rule] = ()
    approval: Approval | None = None
    effort: Effort = field(default_factory=Effort)
    used: Counter[str] = field(default_factory=Counter)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def facts(self) -> CallFacts:
        """What the tiers of calls go by besides their arguments."""
        read = None if self.caller.taint is None else UNTRUSTED in self.caller.taint.labels
        return dataclasses.replace(self.policy.facts, tainted=read if self.policy.holds_by_taint else False)

    def tier(self, candidate: Candidate) -> Tier:
        """The tier of the call that is asked about; without arguments the highest that one can have."""
        tool = candidate.known_tool
        # Others have one tier, whatever the facts.
        facts = self.policy.facts if tool.least_tier is None else self.facts
        return self.policy.tier_of(tool, candidate.arguments, facts)


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate's answer; a refusal has a code and words: `model` says what to do, `user` what happened, `log` why.

    `holds`: yes, once a human has said so too. `rule`: the tenant's rule that the answer follows. `facts`: what it went
    by besides the arguments, so that the same question can be asked again.
    """

    gate: str
    ok: bool
    code: str | None = None
    model: str = ""
    user: str = ""
    log: str = ""
    field: str | None = None
    holds: bool = False
    rule: str | None = None
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The answer as `tool_calls.decision` keeps it."""
        shown: dict[str, Any] = {"gate": self.gate, "ok": self.ok}
        if not self.ok:
            shown |= {"code": self.code, "model": self.model, "user": self.user}
        more = {"holds": self.holds, "rule": self.rule, "log": self.log, "field": self.field, "facts": self.facts}
        return shown | {name: value for name, value in more.items() if value}

    @property
    def failure(self) -> Failure:
        """The refusal as the call's recorded error."""
        return Failure(self.code or "policy_denied", self.model, self.field, self.user)


class Gate(ABC):
    """One gate; a subclass in a file of its own sets the attributes and writes `check`.

    `name` is what decisions record, `code` the error code of its refusals (`audit.models.ErrorCode`). `passed` and
    `refused` are its labels for pages. `occasions` are when it is asked.
    """

    name: ClassVar[str]
    code: ClassVar[str]
    passed: ClassVar[str]
    refused: ClassVar[str]
    occasions: ClassVar[frozenset[Occasion]] = ASKED

    def concerns(self, candidate: Candidate, context: GateContext) -> bool:
        """Whether there is anything to ask; a gate that has nothing to say of a call leaves no answer."""
        return True

    @abstractmethod
    def check(self, candidate: Candidate, context: GateContext) -> GateResult | Awaitable[GateResult]:
        """Whether the call may go on. What cannot be decided is refused."""

    def passes(
        self, *, log: str = "", holds: bool = False, rule: str | None = None, facts: dict[str, Any] | None = None
    ) -> GateResult:
        """Yes."""
        return GateResult(self.name, True, log=log, holds=holds, rule=rule, facts=facts or {})

    def refuses(
        self,
        *,
        model: str,
        user: str,
        log: str,
        code: str | None = None,
        field: str | None = None,
        rule: str | None = None,
        facts: dict[str, Any] | None = None,
    ) -> GateResult:
        """No, under the gate's own code unless another is given."""
        return GateResult(self.name, False, code or self.code, model, user, log, field, rule=rule, facts=facts or {})
