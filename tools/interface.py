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

if TYPE_CHECKING:
    import aiohttp

    from tools.network.cache import TenantCache
    from tools.stores import NoteStore, TaskStore


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
    """A tool's answer: `output` (any JSON value) for the model, `display` (one line) for people."""

    output: Any
    display: str
    artifacts: tuple[Artifact, ...] = ()


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


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The handles that one call may use, and no others; a handle it may not use is None.

    A call without a chat has no run and no conversation. `seconds` is what is left of the call's time budget when it
    starts. `settings` are the values of the settings that the tool declares, by name.
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
    http: "aiohttp.ClientSession | None" = None
    cache: "TenantCache | None" = None


def held(handle: Handle | None, name: str) -> Handle:
    """The handle, or ToolPermissionDenied when the context was built without it."""
    if handle is None:
        raise ToolPermissionDenied(f"This session has no {name} handle, so the tool cannot run in it.")
    return handle


class Tool:
    """A tool: its declaration as class attributes, and `execute`.

    `parameters` is a JSON Schema of type object with `additionalProperties: false`.
    `handles` names the ToolContext handles it needs ("notes", "tasks", "http", "cache").
    `settings` are what the operator configures it with, see Setting; their values are `ctx.settings`.
    `rate` is calls a tenant's user may make, as "count/period" with period s, m, h or d.
    `transactional`: it only touches our own database, through its handles; effect and success then
    commit together, so a lost worker costs nothing. Anything else is remote-bound and has its own share of the worker.
    `idempotent`: running it twice does no more than running it once; only then is it tried again after
    a timeout or a lost worker. `parallel_safe`: a turn's calls of it may run side by side.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    parameters: ClassVar[dict[str, Any]]
    tier: ClassVar[Tier]
    handles: ClassVar[frozenset[str]] = frozenset()
    settings: ClassVar[tuple[Setting, ...]] = ()
    rate: ClassVar[str] = "30/m"
    transactional: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    parallel_safe: ClassVar[bool] = False
    timeout: ClassVar[float] = 30.0

    @property
    def spec(self) -> ToolSpec:
        """The tool's declaration without its code."""
        return ToolSpec(self.name, self.description, self.parameters, self.tier, self.idempotent, self.transactional)

    @property
    def binding(self) -> str:
        """What an approval of a call is bound to, in hexadecimal: with another one, it is another tool."""
        return sha256_hex(self.parameters)

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Run the tool on arguments that already passed its schema; raises only ToolError."""
        raise ToolPermissionDenied(f"{self.name} has no implementation.")
