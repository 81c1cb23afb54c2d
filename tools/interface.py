"""The one interface that every tool has: what it declares, what it is given, what it returns.

Input and output are typed, the permission tier is declared, and the output for the model is kept apart from the display
for people.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from audit.canonical import sha256_hex
from tools.errors import ToolPermissionDenied
from tools.handles import (
    CallersTools,
    Children,
    FetchHosts,
    FindMeaning,
    Log,
    Messages,
    Reminders,
    Report,
    Schedules,
    Sessions,
)
from tools.labels import EVERY_LABEL, Label
from tools.questions import Answer

if TYPE_CHECKING:
    import aiohttp

    from tools.files import FileStore
    from tools.network.cache import TenantCache
    from tools.stores import CanvasStore, MemoryStore, NoteStore, TaskStore


Handle = TypeVar("Handle")


class Tier(StrEnum):
    """How far a tool's effects reach, from looking to the irreversible."""

    READ_ONLY = "read_only"
    WORKSPACE = "workspace"
    SYSTEM = "system"
    ELEVATED = "elevated"

    @property
    def rank(self) -> int:
        """0 for read_only to 3 for elevated; a higher rank needs more permission."""
        return _RANKS[self]


_RANKS = {tier: rank for rank, tier in enumerate(Tier)}


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What the tier of a call may go by besides its arguments; None: not known.

    `fetch_hosts` are the hosts that the tenant allows to be fetched from, `destinations` what the caller's verified
    destinations are called, and `tainted` says whether something untrusted was read where the call comes from.
    """

    fetch_hosts: tuple[str, ...] | None = None
    destinations: frozenset[str] | None = None
    tainted: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool; every provider's definition is made from this.

    `idempotent` and `transactional` are as in Tool.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    tier: Tier
    idempotent: bool = False
    transactional: bool = False


@dataclass(frozen=True, slots=True)
class Artifact:
    """One thing that a call made or changed: `kind` "note", its `id`, and `action` "created"."""

    kind: str
    id: str
    action: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer: `output` (any JSON value) for the model, `display` (one line) for people.

    `reads` is what the answer taints its conversation with beside what the tool's labels say: what rows remember of
    the conversations that they were written in (see `tools.labels.TAINTS`).
    """

    output: Any
    display: str
    artifacts: tuple[Artifact, ...] = ()
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that the operator configures a tool with, as a variable `name` in the environment or `.env`.

    Without a `default` it must be set. The value of a `secret` one is shown nowhere; it can also be read from the file
    that `NAME_FILE` names. `description` says what it is for.
    """

    name: str
    description: str = ""
    secret: bool = False
    default: str | None = None


def _unheard(progress: float, total: float | None = None, message: str | None = None) -> None:
    """Nobody listens."""


def _unlogged(level: str, data: Any, logger: str | None = None) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The handles that one call may use, and no others; a handle it may not use is None.

    A call without a chat has no run and no conversation. `seconds` is what is left of the call's time budget when it
    starts. `settings` are the values of the settings that the tool declares, by name.

    A call that is executed again since its user has answered finds the answers to what it asked last in `answers`, by
    the questions' keys, and in `state` what it had left there (see `tools.questions`). `report` says how far it is:
    `report(3, 10, "words")`, as often as it likes. `log("info", value)` is a message for the client that made
    the call, where it asks for those (`/mcp`); nobody hears a transactional tool.
    """

    call_id: uuid.UUID
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    run_id: uuid.UUID | None
    conversation_id: uuid.UUID | None
    seconds: float
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: "NoteStore | None" = None
    tasks: "TaskStore | None" = None
    files: "FileStore | None" = None
    memories: "MemoryStore | None" = None
    canvas: "CanvasStore | None" = None
    http: "aiohttp.ClientSession | None" = None
    cache: "TenantCache | None" = None
    answers: Mapping[str, Answer] = field(default_factory=dict, repr=False)
    state: Any = field(default=None, repr=False)
    report: Report = field(default=_unheard, repr=False)
    log: Log = field(default=_unlogged, repr=False)
    tools: CallersTools | None = None
    fetch_hosts: FetchHosts | None = None
    children: Children | None = None
    schedules: Schedules | None = None
    messages: Messages | None = None
    reminders: Reminders | None = None
    sessions: Sessions | None = None
    meaning: FindMeaning | None = None


def held(handle: Handle | None, name: str) -> Handle:
    """The handle, or ToolPermissionDenied when the context was built without it."""
    if handle is None:
        raise ToolPermissionDenied(f"This session has no {name} handle, so the tool cannot run in it.")
    return handle


class Tool:
    """A tool: its declaration as class attributes, and `execute`.

    `parameters` is a JSON Schema of type object with `additionalProperties: false`.
    `tier` is the highest that a call can have, and with `least_tier`, the lowest, a call's own is what `tier_of` says.
    `handles` names the ToolContext handles it needs ("notes", "tasks", "files", "http", "cache", …). With "children" it
    is transactional, its calls are begun by the process that drives their run, and only a run's calls have the handle.
    `settings` are what the operator configures it with, see Setting; their values are `ctx.settings`.
    `rate` is calls a tenant's user may make, as "count/period" with period s, m, h or d.
    `transactional`: it only touches our own database, through its handles; effect and success then
    commit together, so a lost worker costs nothing. Anything else is remote-bound and has its own share of the worker.
    `idempotent`: running it twice does no more than running it once; only then is it tried again after
    a timeout or a lost worker. `parallel_safe`: a turn's calls of it may run side by side.
    `listed`: it is among a caller's tools; False for one that only helps to find and call them.
    `labels`: what its answers hold and where its arguments reach; one that declares none is taken to have all of them.
    `destinations` names the arguments that say where a call reaches outside: texts, or lists of texts.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    parameters: ClassVar[dict[str, Any]]
    tier: ClassVar[Tier]
    least_tier: ClassVar[Tier | None] = None
    handles: ClassVar[frozenset[str]] = frozenset()
    settings: ClassVar[tuple[Setting, ...]] = ()
    rate: ClassVar[str] = "30/m"
    transactional: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    parallel_safe: ClassVar[bool] = False
    timeout: ClassVar[float] = 30.0
    listed: ClassVar[bool] = True
    labels: ClassVar[frozenset[Label]] = EVERY_LABEL
    destinations: ClassVar[tuple[str, ...]] = ()

    def labels_of(self, arguments: Mapping[str, Any]) -> frozenset[Label]:
        """The labels of a call with arguments that have passed the schema: some or all of those declared.

        Answers at once; what it raises counts as all of them.
        """
        return self.labels

    @property
    def spec(self) -> ToolSpec:
        """The tool's declaration without its code."""
        return ToolSpec(self.name, self.description, self.parameters, self.tier, self.idempotent, self.transactional)

    @property
    def binding(self) -> str:
        """What an approval of a call is bound to, in hexadecimal: with another one, it is another tool."""
        return sha256_hex(self.parameters)

    @property
    def own_feeds(self) -> str:
        """What the feeds of the service that its calls go to are named as a source (`tools.labels`); "" without one."""
        return ""

    def tier_of(self, arguments: Mapping[str, Any], facts: CallFacts) -> Tier | None:
        """The tier of a call whose arguments have passed the schema, at once; None where that cannot be decided."""
        return None

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Run the tool on arguments that already passed its schema.

        Raises ToolError, and InputRequired unless the tool is transactional, or with `children` WaitsForRun; nothing
        else.
        """
        raise ToolPermissionDenied(f"{self.name} has no implementation.")


def labels_of(tool: Tool, arguments: Any) -> frozenset[Label]:
    """The labels of a call: those that the tool says it has with these arguments; where it cannot say, all that it
    declares."""
    try:
        found = tool.labels_of(arguments)
    except Exception:
        return tool.labels
    return found if found <= tool.labels else tool.labels
