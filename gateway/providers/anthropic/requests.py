"""A prompt as the body of a request to Anthropic's messages API."""

from collections.abc import Iterable
from typing import Any

import orjson

from gateway.providers.anthropic import blocks as anthropic_blocks
from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Document,
    Image,
    Opaque,
    Options,
    Part,
    Prompt,
    PromptMessage,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolMessage,
    Unsupported,
)
from gateway.providers.translation import compatibility, managed
from gateway.providers.translation.call_ids import with_unique_ids
from gateway.providers.translation.names import Names
from tools import definitions

DEFAULT_OUTPUT_TOKENS = 8192
# Properties of a request that are no field of the body: that its last message is to be continued, and the betas
# that go into a header.
PREFILL, BETAS = "prefill", "betas"
_KINDS = {"auto": "auto", "none": "none", "required": "any", "tool": "tool"}

Block = dict[str, Any]


def body(prompt: Prompt, names: Names) -> dict[str, Any]:
    """The body that asks for an answer to the prompt. Raises Unsupported."""
    options = prompt.options
    limit = options.max_output_tokens
    return counted(prompt, names) | {
        "max_tokens": DEFAULT_OUTPUT_TOKENS if limit is None else limit,
        **({"temperature": options.temperature} if options.temperature is not None else {}),
        **({"top_p": options.top_p} if options.top_p is not None else {}),
        **({"stop_sequences": list(options.stop)} if options.stop else {}),
    }


def counted(prompt: Prompt, names: Names) -> dict[str, Any]:
    """What of the body counts as input. Raises Unsupported."""
    options = prompt.options
    extra = compatibility.fields(options, FAMILY)
    made = {name: value for name, value in extra.items() if name not in (PREFILL, BETAS)}
    made |= {"model": prompt.model, "messages": _messages(prompt, names)}
    if system := _system(prompt):
        made["system"] = system
    tools = managed.definitions(prompt, names, definitions.anthropic)
    if prompt.client_tools:
        tools = tools + [_tool(tool, names) for tool in prompt.client_tools]
    if tools:
        made["tools"] = tools
        if choice := _choice(options, names):
            made["tool_choice"] = choice
    if options.response_format is not None:
        if options.response_format.schema is None:
            raise Unsupported(
                "response_format without a JSON schema is not supported by the provider of this model.",
                "response_format",
            )
        form = {"type": "json_schema", "schema": options.response_format.schema}
        made["output_config"] = {**(extra.get("output_config") or {}), "format": form}
    return made


def _tool(tool: ClientTool, names: Names) -> Block:
    if tool.parameters is None:
        if tool.family != FAMILY:
            raise Unsupported(f"The tool {tool.name[:100]} is not supported by the provider of this model.", "tools")
        return tool.raw
    if tool.family == FAMILY:
        return {**tool.raw, "name": names.alias(tool.name)}
    # Every tool takes an object here; other APIs omit it where there are no arguments.
    made: Block = {"name": names.alias(tool.name), "input_schema": {"type": "object", **tool.parameters}}
    if tool.description:
        made["description"] = tool.description
    if tool.strict:
        made["strict"] = True
    return made


def _choice(options: Options, names: Names) -> Block | None:
    given, single = options.tool_choice, options.parallel_tool_calls is False
    if given is None and not single:
        return None
    kind = "auto" if given is None else _KINDS[given.kind]
    choice: Block = {"type": kind}
    if given is not None and kind == "tool":
        choice["name"] = names.alias(given.name)
    if single and kind != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


# --- system ----------------------------------------------------------------------------------------------------------
def _system(prompt: Prompt) -> str | list[Block]:
    """All instructions of the application, in order: one text, or blocks."""
    blocks = [anthropic_blocks.text(prompt.system)] if prompt.system.strip() else []
    for at, message in enumerate(prompt.messages):
        if isinstance(message, SystemMessage) and not _stays(prompt, at):
            blocks += _parts(message.parts or (Text(message.text),))
    return _plain(blocks)


def _stays(prompt: Prompt, at: int) -> bool:
    """Whether a system message is sent at its place: only where the client used this very API to put it there, since
    most models refuse it."""
    return prompt.options.family == FAMILY and any(not isinstance(each, SystemMessage) for each in prompt.messages[:at])


def _plain(blocks: list[Block]) -> str | list[Block]:
    """The one text without any other field, or the blocks."""
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} and blocks[0]["type"] == "text":
        text: str = blocks[0]["text"]
        return text
    return blocks


# --- messages --------------------------------------------------------------------------------------------------------
def _messages(prompt: Prompt, names: Names) -> list[Block]:
    """The transcript with each side's consecutive messages as one, since results must be in one message."""
    merged: list[tuple[str, list[Block]]] = []
    for at, message in enumerate(with_unique_ids(prompt.messages)):
        if isinstance(message, SystemMessage) and not _stays(prompt, at):
            continue
        role, blocks = _message(message, names)
        if not blocks:
            continue
        if merged and merged[-1][0] == role:
            merged[-1][1].extend(blocks)
        else:
            merged.append((role, blocks))
    return [{"role": role, "content": blocks if role == "assistant" else _plain(blocks)} for role, blocks in merged]


def _message(message: PromptMessage, names: Names) -> tuple[str, list[Block]]:
    if isinstance(message, ToolMessage):
        return "user", [_result(message)]
    if isinstance(message, AssistantMessage):
        return "assistant", [*_said(message), *(_use(call, names) for call in message.calls)]
    blocks = _parts(message.parts or (Text(message.text),))
    return "system" if isinstance(message, SystemMessage) else "user", blocks


def _result(message: ToolMessage) -> Block:
    content = _plain(_parts(message.parts)) if message.parts else message.content
    result: Block = {"type": "tool_result", "tool_use_id": message.call_id, "content": content or ""}
    if message.is_error:
        result["is_error"] = True
    return result | compatibility.extra(message.family, message.extra, FAMILY)


def _said(message: AssistantMessage) -> list[Block]:
    if message.parts:
        return _parts(message.parts)
    opaque = [part for part in compatibility.parts(message.opaque, FAMILY) if isinstance(part, Opaque)]
    return [block for block in anthropic_blocks.of(message.text, opaque) if not _empty(block)]


def _empty(block: Block) -> bool:
    """Whether it is a text block that the API refuses."""
    return block.get("type") == "text" and not block["text"].strip()


def _parts(parts: Iterable[Part]) -> list[Block]:
    return [block for block in map(_part, compatibility.parts(parts, FAMILY)) if not _empty(block)]


def _part(part: Part) -> Block:
    if isinstance(part, Opaque):
        return part.raw
    extra = compatibility.extra(part.family, part.extra, FAMILY)
    if isinstance(part, Image):
        return {"type": "image", "source": _source(part), **extra}
    if isinstance(part, Document):
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        named = {"title": part.name} if part.name else {}
        return {"type": "document", "source": source, **named, **extra}
    return anthropic_blocks.text(part.text, **extra)


def _source(image: Image) -> Block:
    if image.url:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": image.media_type, "data": image.data}


def _use(call: SuggestedCall, names: Names) -> Block:
    given = _object(names.arguments_to_provider(call.name, call.arguments))
    use = {"type": "tool_use", "id": call.id, "name": names.alias(call.name), "input": given}
    return use | compatibility.extra(call.family, call.extra, FAMILY)


def _object(arguments: str) -> dict[str, Any]:
    """The arguments as the object that the API demands: empty when the model's text was none."""
    try:
        value = orjson.loads(arguments)
        orjson.dumps(value)  # Objects may be nested deeper than can be written again.
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return {}
    return value if isinstance(value, dict) else {}
