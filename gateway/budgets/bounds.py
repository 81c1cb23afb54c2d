"""An upper bound of the tokens that a prompt has, for what is reserved before a model is asked.

A token of the vocabularies that models use stands for a byte or more, so a text has no more tokens than bytes. What a
provider adds itself (roles, the frame around tools) is counted generously. What is no text counts as much as the
largest image that providers take; a document as its bytes, if those are more.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from gateway.providers.interface import ClientTool, Document, Image, Opaque, Part, Prompt, PromptMessage, Text
from gateway.providers.translation import managed
from tools.interface import ToolSpec

# What a provider adds to any request, to each message, and to each tool.
_REQUEST, _MESSAGE, _TOOL = 1_000, 20, 100
_MEDIA = 50_000
# Opaque parts that are the model's own words.
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
# What is asked for where nobody says how long an answer may be, and the fewest tokens that an answer is of use with.
USUAL_OUTPUT, LEAST_OUTPUT = 4_096, 256
# No turn is estimated at less, of the input and in all.
LEAST_INPUT, LEAST_TURN = _REQUEST, _REQUEST + LEAST_OUTPUT


def input_tokens(prompt: Prompt) -> int:
    """No model counts more tokens for this prompt."""
    return (
        _REQUEST
        + _bytes(prompt.system)
        + _bytes(asdict(prompt.options))
        + sum(map(_message, prompt.messages))
        + managed.once(prompt.tools, _tools)
        + _tools(prompt.client_tools)
    )


def output_tokens(prompt: Prompt) -> tuple[int, int]:
    """How many tokens are wanted of the answer, and the fewest that it is worth asking for."""
    wanted = prompt.options.max_output_tokens
    if wanted is None:
        return USUAL_OUTPUT, LEAST_OUTPUT
    return wanted, min(wanted, LEAST_OUTPUT)


def _tools(tools: Iterable[ToolSpec | ClientTool]) -> int:
    return sum(_TOOL + _bytes(asdict(tool)) for tool in tools)


def _message(message: PromptMessage) -> int:
    plain = asdict(message)
    parts: tuple[Part, ...] = (*message.parts, *getattr(message, "opaque", ()))
    plain.pop("opaque", None)
    if plain.pop("parts"):
        # They say the same.
        plain.pop("text", None)
        plain.pop("content", None)
    return _MESSAGE + _bytes(plain) + sum(map(_part, parts))


def _part(part: Part) -> int:
    if isinstance(part, Image):
        return _MEDIA
    if isinstance(part, Document):
        return max(_MEDIA, len(part.data))
    if isinstance(part, Opaque) and part.raw.get("type") not in _THOUGHTS and "thought" not in part.raw:
        return max(_MEDIA, _bytes(part.raw))
    return _MESSAGE + (_bytes(asdict(part)) if isinstance(part, Text) else _bytes(part.raw))


def _bytes(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass"))
