"""What a compatible API is to the core: pure translations of a request, an answer, a stream and an error.

An API never looks at a database, a tool or a clock; `serving` does, and knows no dialect.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from gateway.providers.interface import (
    Family,
    Opaque,
    SuggestedCall,
    Usage,
)
from gateway.runs.prompting.client_request import ClientRequest


@dataclass(frozen=True, slots=True)
class TurnReply:
    """One turn as far as the client sees it: what the model said, opaque parts first. `calls` are the bodies of the
    managed calls, as in `toolgate.tool_calls`, which only the Responses API shows in its output."""

    number: int
    text: str
    opaque: tuple[Opaque, ...] = ()
    calls: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished answer. `id` is 32 hex digits, `created` Unix seconds, `model` as the client named it.

    `calls` are the suggested calls of the client's own tools, in the last turn; `usage` is summed over turns;
    `finish_reason` as in Answer. `notice` is what is said in the assistant's place when the run waits for humans: it is
    the last text of the answer; `pending` are those requests, as in `required_action.approvals`. `extra` are the
    answering provider's own fields, of its `family`. `toolgate` is the extra top-level field of the contract.
    """

    id: str
    created: int
    model: str
    turns: tuple[TurnReply, ...]
    calls: tuple[SuggestedCall, ...]
    finish_reason: str
    usage: Usage
    toolgate: dict[str, Any]
    stop_sequence: str | None = None
    notice: str = ""
    pending: tuple[dict[str, Any], ...] = ()
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    echo: dict[str, Any] = field(default_factory=dict)


class StreamWriter(Protocol):
    """Writes one streamed answer, event by event, as bytes for the wire; b"" where an API has nothing to say."""

    def begin(self) -> bytes:
        """The events before any content."""
        ...

    def opaque(self, turn: int, part: Opaque) -> bytes:
        """A part that came before the turn's text."""
        ...

    def text(self, turn: int, text: str) -> bytes:
        """The next piece of a turn's text; a later turn's text never runs into an earlier one's."""
        ...

    def call(self, turn: int, body: dict[str, Any]) -> bytes:
        """A managed call that is settled."""
        ...

    def keep_alive(self) -> bytes:
        """Something that clients ignore."""
        ...

    def end(self, reply: Reply) -> bytes:
        """What `text` has not written yet, the notice, the client's calls, the finish, usage, `toolgate`, and the end
        of the stream."""
        ...

    def error(self, status: int, code: str, message: str) -> bytes:
        """A failure after the stream has begun, and the end of the stream."""
        ...


class CompatApi(Protocol):
    """One compatible API."""

    name: str
    family: Family

    def parse(self, given: dict[str, Any]) -> ClientRequest:
        """The request out of its JSON object; raises BadRequest. What is not understood goes into `Options.extra`."""
        ...

    def body(self, reply: Reply) -> dict[str, Any]:
        """The answer's JSON."""
        ...

    def writer(self, *, id: str, created: int, model: str, request: ClientRequest) -> StreamWriter:
        """A writer for one streamed answer."""
        ...

    def error(self, status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
        """An error's JSON, in the vendor's shape for the status."""
        ...
