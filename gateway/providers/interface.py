"""What the loop says to a model and hears back, in no provider's dialect.

Adapters translate between this and a provider's API, and do nothing else: no validation of
arguments, no execution, no retry. Source: ADR-0007 "Adapters vs Runtime vs Refine".
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tools.interface import ToolSpec


@dataclass(frozen=True, slots=True)
class SuggestedCall:
    """A tool call as the model made it: `id` as the provider named it, `arguments` the raw text, unparsed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user said."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model answered: its text and the calls it suggested, in its order."""

    text: str
    calls: tuple[SuggestedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """What a suggested call came to: `content` is the JSON text that the model is told."""

    call_id: str
    name: str
    content: str


PromptMessage = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a model: `model` is the provider's own name, without "provider/"."""

    model: str
    messages: tuple[PromptMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's whole answer. `finish_reason`: "stop", "tool_calls", "length" or "content_filter"."""

    text: str
    calls: tuple[SuggestedCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)


OnText = Callable[[str], None]


class Provider(Protocol):
    """An adapter; one instance, and so one HTTP client, per process and event loop."""

    name: str

    async def ask(self, prompt: Prompt, on_text: OnText | None = None) -> Answer:
        """Ask once. With `on_text` the answer streams and each piece of text is passed on as it comes.

        Raises ProviderError (see `errors.py`); never tries again by itself.
        """
        ...

    async def close(self) -> None:
        """Close the HTTP client."""
        ...
