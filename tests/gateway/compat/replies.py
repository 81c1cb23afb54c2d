"""Answers as the core hands them to a surface."""

from typing import Any

from gateway.compat.interface import Reply, TurnReply
from gateway.providers.interface import Opaque, SuggestedCall, Usage

ID = "0123456789abcdef0123456789abcdef"
CREATED = 1_780_000_000
MODEL = "openai/gpt"
TOOLGATE = {
    "run_id": "01234567-89ab-cdef-0123-456789abcdef",
    "conversation_id": "11234567-89ab-cdef-0123-456789abcdef",
    "status": "completed",
    "tool_calls": [{"id": "c", "tool": "web_search", "input": {"query": "x"}, "status": "success", "turn": 1}],
}
USAGE = Usage(20, 8, 4, 2)
CALLS = (SuggestedCall("call_a", "get_weather", '{"city":"Bern"}'), SuggestedCall("call_b", "get_time", "{}"))


def reply(*texts: str, calls: tuple[SuggestedCall, ...] = (), **more: Any) -> Reply:
    """An answer of a turn a text."""
    opaque: tuple[Opaque, ...] = more.pop("opaque", ())
    turns = tuple(TurnReply(number, text, opaque) for number, text in enumerate(texts, 1))
    given: dict[str, Any] = {"finish_reason": "tool_calls" if calls else "stop", "usage": USAGE, "toolgate": TOOLGATE}
    return Reply(ID, CREATED, MODEL, turns, calls, **(given | more))
