"""A request of a compatible API's client, in no vendor's dialect."""

from dataclasses import dataclass, field
from typing import Any

from gateway.providers.interface import ClientTool, Options, PromptMessage
from tenants.errors import Refused


class BadRequest(Refused):
    """The request is not what the vendor's API takes, or asks for what cannot be done; `field` names the one at fault,
    as in `messages.0.content`."""


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """What a client asks over a compatible API, in no dialect.

    `messages` is the whole transcript as the client sends it, system messages at their place. `approvals` are what it
    says to approval requests: id → [yes, reason, `seen` or None]. Over Responses, `previous` is the run that it goes
    on from, `references` are runs whose answers stand at these places of `messages`, where they are empty as yet, and
    `instructions` hold for this request alone and not for those that go on from it.
    `echo` is what the surface wants to know again when it answers, as JSON; it comes back in `Reply.echo`.
    """

    model: str
    messages: tuple[PromptMessage, ...]
    client_tools: tuple[ClientTool, ...] = ()
    options: Options = field(default_factory=Options)
    stream: bool = False
    include_usage: bool = False
    previous: str | None = None
    instructions: str = ""
    references: tuple[tuple[int, str], ...] = ()
    approvals: dict[str, list[Any]] = field(default_factory=dict)
    echo: dict[str, Any] = field(default_factory=dict)
