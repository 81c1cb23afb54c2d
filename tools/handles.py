"""What a call may do besides computing: the handles of a tool's context that are no plain object.

`tools.interface.ToolContext` has a field for each; `tools.invocation.in_worker` makes them for a call.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tools.stores import Meaning


class Report(Protocol):
    """Takes how far a call is, of how much if that is known, and in which words."""

    def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Never raises, and waits for nothing."""
        ...


class Log(Protocol):
    """Takes a log message about a call: a level of RFC 5424 such as "info", any JSON value, and who says it."""

    def __call__(self, level: str, data: Any, logger: str | None = None) -> None:
        """Never raises, and waits for nothing."""
        ...


class CallersTools(Protocol):
    """The handle `tools`: the tools that the caller may use, under the agent that calls."""

    async def search(self, query: str, limit: int) -> dict[str, Any]:
        """See `tools.offering.searching.search`."""
        ...


# The handle `fetch_hosts`: the hosts that the tenant allows to be fetched from, as they are now.
FetchHosts = Callable[[], Awaitable[tuple[str, ...]]]


class Children(Protocol):
    """The handle `children`: the run that makes the call may begin another one, and wait for it."""

    async def begin(
        self, *, task: str, agent: str | None, context: str | None, output_schema: dict[str, Any] | None = None
    ) -> uuid.UUID:
        """Begin a run with a task and a context, by the agent of that slug or the caller's own, in the call's
        transaction; its id, which the tool raises in WaitsForRun. It is told of the schema that its answer is to fit,
        which is the call's argument `output_schema`. Raises ToolError."""
        ...

    async def send(self, *, session_id: str, message: str) -> uuid.UUID:
        """Begin a run in another conversation of the user's, by the agent that answered there last; as `begin`."""
        ...


class Schedules(Protocol):
    """The handle `schedules`: the user's schedules, in the call's transaction. Each raises ToolError."""

    async def add(self, *, cron: str, tz: str, content: str) -> dict[str, Any]:
        """A new one, as `{schedule_id, next_at}`."""
        ...

    async def list(self) -> list[dict[str, Any]]:
        """All, as `{schedule_id, cron, tz, content, agent, enabled, paused_because, next_at, last, taint}`; `last` is
        None or `{slot_at, status, code, run_id}`, `taint` what the conversation had read that made it."""
        ...

    async def run(self, schedule_id: uuid.UUID) -> dict[str, Any]:
        """Begin a run of it now, as `{schedule_id, slot_at, status, code, run_id, message}`."""
        ...

    async def cancel(self, schedule_id: uuid.UUID) -> dict[str, Any] | None:
        """Delete it: what it was, as `{cron, tz, content}`; None when the user has no such schedule."""
        ...


class Messages(Protocol):
    """The handle `messages`: messages in the name of the call's user, in the call's transaction."""

    async def send(
        self, *, to: str, text: str, operation: dict[str, Any] | None, media: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Send to "inbox", a verified destination's name, or an address, with the files at these paths of the
        conversation: `{"message_id", "to", "channel", "status", "taint"}`, the last of which is of the files.

        Raises ToolValidationError, and ToolPermissionDenied for an address that nobody has agreed to.
        """
        ...


class Reminders(Protocol):
    """The handle `reminders`: reminders of the call's user, in the call's transaction."""

    async def add(self, *, text: str, at: datetime) -> dict[str, str]:
        """Remind of `text` at a moment: `{"id", "at", "shown"}`, the last for people. Raises ToolValidationError."""
        ...


# The handle `meaning`: the vector of what is searched for, None where there is none. Raises WaitsForMeaning at first,
# so a tool asks for it before it does anything. The handle is None where the operator has named no model for that.
FindMeaning = Callable[[str], "Meaning | None"]


class Sessions(Protocol):
    """The handle `sessions`: the conversations of the call's user.

    Each is `{"session_id", "title", "kind", "labels", "status", "updated_at"}`, and comes with what it has read, which
    its reader has read then, too.
    """

    async def find(
        self, *, query: str | None, label: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], frozenset[str]]:
        """Those with each word of the query in their title, and the label; the last used first."""
        ...

    async def read(self, session_id: str, limit: int) -> tuple[dict[str, Any], frozenset[str]]:
        """One with its newest `messages`, `[{"role", "content", "truncated", "at"}]`. Raises ToolValidationError."""
        ...

    async def label(self, session_id: str | None, labels: Sequence[str]) -> str:
        """Replace the labels of one, or of the call's own; its id. Raises ToolValidationError."""
        ...
