"""Whose tools a turn calls: the gateway's own ("managed"), the client's, or both.

Managed calls run here and client calls go back to the client. Managed calls first and client calls after them: the
managed ones run, the others are dropped, and the model asks again for what it still wants. A client call before a
managed one is refused: nobody could answer both in order.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gateway.providers.interface import AssistantMessage, PromptMessage, SuggestedCall


@dataclass(frozen=True, slots=True)
class Owned:
    """A turn's calls by owner; `mixed`: a client call came before a managed one. `left_out`: client calls of a turn
    that has managed ones, each with its place in the answer."""

    managed: tuple[SuggestedCall, ...]
    client: tuple[SuggestedCall, ...]
    mixed: bool
    left_out: tuple[tuple[int, SuggestedCall], ...] = ()


def split(calls: Sequence[SuggestedCall], client_tools: Collection[str]) -> Owned:
    """A call is the client's when it names one of the client's tools; any other name is asked of the gateway."""
    if not client_tools:
        return Owned(tuple(calls), (), False)
    managed = tuple(call for call in calls if call.name not in client_tools)
    client = tuple(call for call in calls if call.name in client_tools)
    first = next((at for at, call in enumerate(calls) if call.name in client_tools), len(calls))
    placed = tuple((at, call) for at, call in enumerate(calls) if call.name in client_tools)
    mixed = any(call.name not in client_tools for call in calls[first:])
    return Owned(managed, client, mixed, placed if managed else ())


def with_new_ids(calls: Sequence[SuggestedCall], messages: Sequence[PromptMessage]) -> tuple[SuggestedCall, ...]:
    """The client's calls under ids that its transcript does not hold yet: some servers begin anew in every answer."""
    taken = {call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls}
    fresh: list[SuggestedCall] = []
    for call in calls:
        name, number = call.id, 2
        while name in taken:
            name, number = f"{call.id}_{number}", number + 1
        taken.add(name)
        fresh.append(replace(call, id=name))
    return tuple(fresh)


def instruction(owned: Owned) -> str:
    """What is said of a mixed turn, to whoever sent the request."""
    managed, client = (", ".join(dict.fromkeys(call.name for call in calls)) for calls in (owned.managed, owned.client))
    return (
        f"The model called a tool of the client ({client}) before a managed one ({managed}) in the same turn. "
        "Nothing was run. Call managed tools first, and the client's own tools in a later turn."
    )
