"""A prompt as the chat completions API takes it.

Fields and parts of the family openai are those of chat completions, and go out as they came in. In an assistant's
message an opaque part represents one of the message's fields: `{"type": name, name: value}`.
"""

from collections.abc import Iterable
from typing import Any

from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Document,
    Family,
    Image,
    Opaque,
    Options,
    Part,
    Prompt,
    PromptMessage,
    ResponseFormat,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolChoice,
    ToolMessage,
    Unsupported,
)
from gateway.providers.translation import compatibility, managed
from gateway.providers.translation.call_ids import with_unique_ids
from gateway.providers.translation.names import Names
from tools import definitions

FAMILY: Family = "openai"

Wire = dict[str, Any]


def body(prompt: Prompt, names: Names, *, limit: str, streaming: bool) -> Wire:
    """The request's body; `limit` is the field for the most output tokens. Raises Unsupported."""
    options = prompt.options
    extra = compatibility.fields(options, FAMILY)
    stream_options = extra.get("stream_options") or {}
    asked: Wire = {name: value for name, value in extra.items() if name != "stream_options"}
    asked |= {"model": prompt.model, "messages": _messages(prompt, names)}
    asked |= _tools(prompt, names) | _options(options, limit)
    if streaming:
        asked |= {"stream": True, "stream_options": {**stream_options, "include_usage": True}}
    return asked


def _options(options: Options, limit: str) -> Wire:
    given = {
        limit: options.max_output_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "stop": list(options.stop) or None,
        "response_format": _response_format(options.response_format) if options.response_format else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _response_format(wanted: ResponseFormat) -> Wire:
    if wanted.kind == "json_object":
        return {"type": "json_object"}
    described = {"description": wanted.description or None, "schema": wanted.schema, "strict": wanted.strict}
    schema = {"name": wanted.name or "answer"} | {key: value for key, value in described.items() if value is not None}
    return {"type": "json_schema", "json_schema": schema}


# --- tools -----------------------------------------------------------------------------------------------------------
def _tools(prompt: Prompt, names: Names) -> Wire:
    choice = prompt.options.tool_choice
    tools = managed.definitions(prompt, names, definitions.openai)
    if prompt.client_tools:
        tools = tools + [_tool(tool, names) for tool in prompt.client_tools]
    if not tools:
        if choice is not None and choice.kind in ("required", "tool"):
            raise Unsupported("tool_choice demands a call, and there is no tool to call.", "tool_choice")
        return {}
    # Both are refused where there are no tools.
    given: Wire = {"tools": tools}
    if choice is not None:
        given["tool_choice"] = _choice(choice, _custom(prompt.client_tools), names)
    if prompt.options.parallel_tool_calls is not None:
        given["parallel_tool_calls"] = prompt.options.parallel_tool_calls
    return given


def _tool(tool: ClientTool, names: Names) -> Wire:
    if tool.family == FAMILY and tool.raw:
        kind = str(tool.raw.get("type"))
        inner = tool.raw.get(kind)
        if isinstance(inner, dict) and inner.get("name") == tool.name:
            return {**tool.raw, kind: {**inner, "name": names.alias(tool.name)}}
        return tool.raw
    if tool.parameters is None:
        raise Unsupported(f"The tool {tool.name} is not supported by the provider of this model.", "tools")
    function: Wire = {"name": names.alias(tool.name), "description": tool.description, "parameters": tool.parameters}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _custom(tools: Iterable[ClientTool]) -> frozenset[str]:
    """The names of the tools whose calls carry text of any form instead of JSON."""
    return frozenset(tool.name for tool in tools if tool.family == FAMILY and tool.raw.get("type") == "custom")


def _choice(choice: ToolChoice, custom: frozenset[str], names: Names) -> str | Wire:
    if choice.kind != "tool":
        return choice.kind
    kind = "custom" if choice.name in custom else "function"
    return {"type": kind, kind: {"name": names.alias(choice.name)}}


# --- messages --------------------------------------------------------------------------------------------------------
def _messages(prompt: Prompt, names: Names) -> list[Wire]:
    custom = _custom(prompt.client_tools)
    system = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return system + [_message(message, custom, names) for message in with_unique_ids(prompt.messages)]


def _message(message: PromptMessage, custom: frozenset[str], names: Names) -> Wire:
    given = dict(compatibility.extra(message.family, message.extra, FAMILY))
    if isinstance(message, AssistantMessage):
        return given | _assistant(message, custom, names)
    if isinstance(message, ToolMessage):
        if any(isinstance(part, Image | Document) for part in message.parts):
            raise Unsupported(
                "Images and documents in tool results are not supported by the provider of this model.", "messages"
            )
        content = _content(message.content, message.parts)
        return given | {"role": "tool", "tool_call_id": message.call_id, "content": content}
    role = message.role if isinstance(message, SystemMessage) else "user"
    return given | {"role": role, "content": _content(message.text, message.parts)}


def _assistant(message: AssistantMessage, custom: frozenset[str], names: Names) -> Wire:
    given: Wire = {"role": "assistant"}
    for part in compatibility.parts(message.opaque, FAMILY):
        if isinstance(part, Opaque):
            given |= {name: value for name, value in part.raw.items() if name != "type"}
    # A refusal is sent once; beside it, or beside calls, content may be empty.
    refusal = given.get("refusal")
    text = "" if message.text == refusal else message.text
    content = _content(text, message.parts) if message.family == FAMILY else text
    given["content"] = content or (None if message.calls or refusal or "audio" in given else "")
    if message.calls:
        given["tool_calls"] = [_call(call, custom, names) for call in message.calls]
    return given


def _call(call: SuggestedCall, custom: frozenset[str], names: Names) -> Wire:
    given = {**compatibility.extra(call.family, call.extra, FAMILY), "id": call.id}
    name = names.alias(call.name)
    if call.name in custom:
        return {**given, "type": "custom", "custom": {"name": name, "input": call.arguments}}
    return {
        **given,
        "type": "function",
        "function": {"name": name, "arguments": names.arguments_to_provider(call.name, call.arguments)},
    }


def _content(text: str, parts: tuple[Part, ...]) -> str | list[Wire]:
    understood = compatibility.parts(parts, FAMILY)
    return [_part(part) for part in understood] if understood else text


def _part(part: Part) -> Wire:
    if isinstance(part, Opaque):
        return part.raw
    extra = dict(compatibility.extra(part.family, part.extra, FAMILY))
    if isinstance(part, Text):
        return {**extra, "type": "text", "text": part.text}
    if isinstance(part, Document):
        # The API refuses one without a name.
        file = {"filename": part.name or "document.pdf", "file_data": f"data:{part.media_type};base64,{part.data}"}
        return {**extra, "type": "file", "file": file}
    url = part.url or f"data:{part.media_type};base64,{part.data}"
    detail = {"detail": extra.pop("detail")} if "detail" in extra else {}
    return {**extra, "type": "image_url", "image_url": {"url": url, **detail}}
