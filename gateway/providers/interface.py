"""What the loop sends to a model and gets back, independent of any provider.

Adapters translate between this and a provider's API, and do nothing else: no validation of
arguments, no execution, no retry.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from tools.interface import ToolSpec

# Who understands a field or a part that is not ours: the family of APIs that it came in over.
Family = Literal["openai", "anthropic", "gemini", "demo"]


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a message that is text; `extra` are its other fields, for its own family (such as cache_control)."""

    text: str
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    """A part that is an image: base64 `data` of a `media_type`, or a `url`; `name` is its file's, for people."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A part that is a document: base64 `data` of a `media_type`, such as a PDF; `name` is its file's."""

    media_type: str
    data: str
    name: str = ""
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that only its own family understands, as it was: a thinking block, an audio part, a provider's file."""

    family: Family
    raw: dict[str, Any]


Part = Text | Image | Document | Opaque


@dataclass(frozen=True, slots=True)
class SuggestedCall:
    """A tool call as the model made it: `id` as the provider named it, `arguments` the raw text, unparsed.

    `extra` are its other fields, for its own family.
    """

    id: str
    name: str
    arguments: str
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """An instruction of the application, at its place in the transcript; `role` is system or developer.

    `extra` of each kind of message are its other fields, such as the speaker's name: its own `family` gets them as they
    were, and any other goes without.
    """

    text: str
    role: Literal["system", "developer"] = "system"
    parts: tuple[Part, ...] = ()
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user said, or unless `by_person` another run in their place; with `parts` they are the message, and
    `text` is what of them is text."""

    text: str
    parts: tuple[Part, ...] = ()
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    by_person: bool = True


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model answered: its text and the calls it suggested, in its order; `opaque` comes before both.

    With `parts` they are what came before the calls, in order; `text` is what of them is text, `opaque` what is not.
    """

    text: str
    calls: tuple[SuggestedCall, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    parts: tuple[Part, ...] = ()
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of a suggested call: `content` is the text for the model; with `parts`, they are the result."""

    call_id: str
    name: str
    content: str
    parts: tuple[Part, ...] = ()
    is_error: bool = False
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)


PromptMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool of the application's own: suggested calls of it go back to the application.

    `raw` is its definition in its own family, with fields that are none of ours; a tool that the provider itself runs
    has no `parameters`, only `raw`.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    family: Family | None = None
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which calls the model may or must suggest: auto, none, required, or the one `name`."""

    kind: Literal["auto", "none", "required", "tool"] = "auto"
    name: str = ""


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The form that the final text must have: `json_object`, or `json_schema` with the schema."""

    kind: Literal["json_object", "json_schema"]
    name: str = ""
    description: str = ""
    schema: dict[str, Any] | None = None
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """How to answer; None and empty leave it to the provider.

    `extra` are fields of the request that are none of ours, for the `family` whose request it was.
    """

    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    family: Family | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model: `model` is the provider's own name, without "provider/".

    `tools` are managed, `client_tools` the application's own; no name is in both.
    """

    model: str
    messages: tuple[PromptMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    client_tools: tuple[ClientTool, ...] = ()
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; `cached_tokens` of the input were read from its cache, `reasoning_tokens` of
    the output were not shown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's whole answer. `finish_reason`: "stop", "tool_calls", "length" or "content_filter"; `stop_sequence` is
    the one that ended it. `opaque` are parts that came before the text, `extra` fields of the family that answered."""

    text: str
    calls: tuple[SuggestedCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    stop_sequence: str | None = None
    opaque: tuple[Opaque, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of some texts, in their order, as the provider sent them; `input_tokens` is 0 where it does not say
    that."""

    vectors: list[Any]
    input_tokens: int = 0


OnText = Callable[[str], None]
OnOpaque = Callable[[Opaque], None]


class Unsupported(Exception):
    """The prompt asks for what this provider cannot do; the message names it, for whoever sent the request."""

    def __init__(self, message: str, field: str | None = None):
        super().__init__(message)
        self.message = message
        self.field = field


class Provider(Protocol):
    """An adapter; one instance, and so one HTTP client, per process and event loop."""

    name: str
    family: Family

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once. With `on_text` the answer streams and each piece of text is passed on as it comes, as is each
        opaque part that comes before it.

        Raises ProviderError (see `errors.py`); never tries again by itself. Raises Unsupported before anything is sent.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@runtime_checkable
class Embeds(Protocol):
    """What an adapter has besides, where its API makes vectors of texts."""

    async def embed(self, model: str, texts: list[str]) -> Embedded:
        """Ask once for the vectors of texts; `model` is the provider's own name. Raises ProviderError."""
        ...
