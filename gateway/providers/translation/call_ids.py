"""Call ids of earlier turns as every provider accepts them when they are sent back."""

from collections import defaultdict, deque
from dataclasses import replace

from gateway.providers.interface import AssistantMessage, PromptMessage, ToolMessage
from gateway.providers.translation.names import safe

_LONGEST = 40


def with_unique_ids(messages: tuple[PromptMessage, ...]) -> tuple[PromptMessage, ...]:
    """The messages, with other ids where a call's id occurs twice or is in another provider's style.

    Providers refuse such a prompt, so that one odd answer would end its conversation for good.
    """
    ids = [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    if len(set(ids)) == len(ids) and all(safe(call_id, _LONGEST) == call_id for call_id in ids):
        return messages
    taken: set[str] = set()
    open_ids: dict[str, deque[str]] = defaultdict(deque)
    repaired: list[PromptMessage] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = []
            for call in message.calls:
                new = _unique(call.id, taken)
                taken.add(new)
                open_ids[call.id].append(new)
                calls.append(replace(call, id=new))
            message = replace(message, calls=tuple(calls))
        elif isinstance(message, ToolMessage):
            # Results come in the order of their calls, so the first of equal ids is the one still open.
            waiting = open_ids[message.call_id]
            message = replace(message, call_id=waiting.popleft() if waiting else safe(message.call_id, _LONGEST))
        repaired.append(message)
    return tuple(repaired)


def _unique(call_id: str, taken: set[str]) -> str:
    new = safe(call_id, _LONGEST)
    number = 2
    while new in taken:
        new = safe(f"{call_id}_{number}", _LONGEST)
        number += 1
    return new
