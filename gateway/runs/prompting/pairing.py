"""The results of the client's own tools beside the calls that they answer."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from gateway.providers.interface import AssistantMessage, PromptMessage, SystemMessage, ToolMessage
from gateway.runs.prompting.client_request import BadRequest


def paired(messages: Iterable[PromptMessage]) -> tuple[PromptMessage, ...]:
    """The messages with every result named as its call is.

    Raises BadRequest for a result of a call that nobody made, and for a call without a result.
    """
    found: list[PromptMessage] = []
    waiting: dict[str, deque[str]] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            if not waiting.get(message.call_id):
                raise BadRequest(
                    f"No tool call found for function call output with call_id {message.call_id[:100]!a}.", "input"
                )
            message = replace(message, name=waiting[message.call_id].popleft())
        elif not isinstance(message, SystemMessage):
            _settled(waiting)
            if isinstance(message, AssistantMessage):
                for call in message.calls:
                    waiting.setdefault(call.id, deque()).append(call.name)
        found.append(message)
    _settled(waiting)
    return tuple(found)


def _settled(waiting: dict[str, deque[str]]) -> None:
    left = next((call_id for call_id, names in waiting.items() if names), None)
    if left is not None:
        raise BadRequest(f"No tool output found for function call {left[:100]!a}.", "input")
    waiting.clear()
