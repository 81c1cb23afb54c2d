"""Anthropic's messages as a compatible API.

Fields and blocks that are not ours go to Anthropic's own models as they came. A last message of the assistant's is one
to be continued, which other providers do not do: it is refused there by the name `prefill`.
"""

from typing import Any

from gateway.compat.interface import Reply, StreamWriter
from gateway.compat.messages import answers
from gateway.compat.messages import request as messages_request
from gateway.compat.messages.stream import EventWriter
from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.interface import Family
from gateway.runs.prompting.client_request import ClientRequest


class Messages:
    """`POST /v1/messages`; see `CompatApi`."""

    name = "messages"
    family: Family = FAMILY

    def parse(self, given: dict[str, Any]) -> ClientRequest:
        """The request out of its JSON object. Raises BadRequest."""
        return messages_request.read(given)

    def parse_count(self, given: dict[str, Any]) -> ClientRequest:
        """The request to `POST /v1/messages/count_tokens` out of its JSON object. Raises BadRequest."""
        return messages_request.counted(given)

    def body(self, reply: Reply) -> dict[str, Any]:
        """The message object."""
        return answers.body(reply)

    def writer(self, *, id: str, created: int, model: str, request: ClientRequest) -> StreamWriter:
        """A writer for one streamed message."""
        return EventWriter(id=id, model=model)

    def error(self, status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
        """The error's JSON: its type follows from the status alone."""
        return answers.error(status, message, field)


API = Messages()
