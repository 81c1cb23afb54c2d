"""What a tenant has said in advance of calls, as gates read it."""

from typing import Any, Protocol

from tools.schemas.effort import Effort


class Condition(Protocol):
    """What a tenant demands of calls of a tool, as the gate `condition` reads it."""

    @property
    def id(self) -> str:
        """As the decision records it."""
        ...

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def condition(self) -> dict[str, Any]:
        """A JSON Schema of `{"args", "context"}`; see `tools.gates.checks.context`."""
        ...

    @property
    def time_zone(self) -> str:
        """Whose hours and days it means, such as Europe/Berlin."""
        ...

    @property
    def version(self) -> int:
        """Another one after each change."""
        ...

    def concerns(self, tool_name: str, agent: str) -> bool:
        """Whether it is about calls of the tool by the agent."""
        ...


class Rule(Protocol):
    """A rule of the tenant that decides calls in advance, as gates read it."""

    @property
    def id(self) -> str:
        """As the decision records it."""
        ...

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def condition(self) -> dict[str, Any] | None:
        """A JSON Schema of the arguments that it is about; None: any."""
        ...

    @property
    def uses_left(self) -> int | None:
        """Calls that it may still approve; None: any number."""
        ...

    @property
    def binding(self) -> str:
        """The only binding of its tool that it approves calls of; "": any."""
        ...

    @property
    def denies(self) -> bool:
        """Whether it denies, instead of approving."""
        ...

    def concerns(self, tool_name: str, agent: str) -> bool:
        """Whether it is about calls of the tool by the agent, whatever their arguments."""
        ...

    def matches(self, arguments: dict[str, Any], effort: Effort) -> bool | None:
        """Whether it is about these arguments; None when that cannot be decided."""
        ...
