"""A prompt as the body of a request to Gemini's generateContent.

What the API sends beside a part must be sent back with it. For parts before the calls that is the whole part, opaque;
for the nth call it is the opaque `{"call": n, "thoughtSignature": …}`, so that it is stored even where calls are not.
"""

import mimetypes
import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import orjson

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

FAMILY: Family = "gemini"
SIGNATURE = "thoughtSignature"
CALL = "call"

# Gemini 3 refuses a turn whose first call has no signature; Google's word for a call that another model made.
_NO_SIGNATURE = "skip_thought_signature_validator"
_FUNCTIONS = "functionDeclarations"
# The API stores numbers as doubles, which would change a longer one.
_LONG_NUMBER = re.compile(r"\d{16}")

Wire = dict[str, Any]


def body(prompt: Prompt, names: Names) -> Wire:
    """The body that asks for an answer to the prompt. Raises Unsupported."""
    extra = compatibility.fields(prompt.options, FAMILY)
    asked: Wire = {**extra, "contents": _contents(prompt.messages, names)}
    if system := _system(prompt):
        asked["systemInstruction"] = {"parts": system}
    asked |= _tools(prompt, names)
    if config := {**(extra.get("generationConfig") or {}), **_generation(prompt.options)}:
        asked["generationConfig"] = config
    return asked


def _generation(options: Options) -> Wire:
    wanted = options.response_format
    given = {
        "maxOutputTokens": options.max_output_tokens,
        "temperature": options.temperature,
        "topP": options.top_p,
        "stopSequences": list(options.stop) or None,
        "responseMimeType": "application/json" if wanted else None,
        "responseJsonSchema": wanted.schema if wanted else None,
    }
    return {name: value for name, value in given.items() if value is not None}


# --- tools -----------------------------------------------------------------------------------------------------------
def _tools(prompt: Prompt, names: Names) -> Wire:
    own = [tool for tool in prompt.client_tools if tool.parameters is None]
    tools = managed.definitions(prompt, names, definitions.gemini)
    functions = [function for tool in tools for function in tool[_FUNCTIONS]]
    if prompt.client_tools:
        functions += [_function(tool, names) for tool in prompt.client_tools if tool.parameters is not None]
        tools = [_own_tool(tool) for tool in own] + ([{_FUNCTIONS: functions}] if functions else [])
    given: Wire = {"tools": tools} if tools else {}
    if calling := _calling(prompt, names):
        if not functions and calling["mode"] == "ANY":
            raise Unsupported("tool_choice demands a call, and there is no tool to call.", "tool_choice")
        given |= {"toolConfig": {"functionCallingConfig": calling}} if functions else {}
    return given


def _calling(prompt: Prompt, names: Names) -> Wire:
    """Which functions the model may or must call; empty where it may call all and need not keep to their schemas."""
    choice = prompt.options.tool_choice
    if choice is not None and choice.kind == "tool":
        return {"mode": "ANY", "allowedFunctionNames": [names.alias(choice.name)]}
    # VALIDATED is AUTO with arguments that fit; ANY and a named function imply it.
    strict = any(tool.strict for tool in prompt.client_tools)
    if choice is None or choice.kind == "auto":
        return {"mode": "VALIDATED"} if strict else {"mode": "AUTO"} if choice else {}
    return {"mode": "NONE" if choice.kind == "none" else "ANY"}


def _function(tool: ClientTool, names: Names) -> Wire:
    if tool.family == FAMILY:
        return {**tool.raw, "name": names.alias(tool.name)}
    # Every function takes an object here; other APIs omit it where there are no arguments.
    schema = {"type": "object", **(tool.parameters or {})}
    described = {"description": tool.description} if tool.description else {}
    return {"name": names.alias(tool.name), **described, "parametersJsonSchema": schema}


def _own_tool(tool: ClientTool) -> Wire:
    if tool.family != FAMILY:
        raise Unsupported(f"The tool {tool.name[:100]} is not supported by the provider of this model.", "tools")
    return tool.raw


# --- messages --------------------------------------------------------------------------------------------------------
def _system(prompt: Prompt) -> list[Wire]:
    """All instructions of the application, in order."""
    parts = [{"text": prompt.system}] if prompt.system else []
    for message in prompt.messages:
        if isinstance(message, SystemMessage):
            if any(isinstance(part, Image | Document) for part in message.parts):
                raise Unsupported(
                    "Images and documents in system messages are not supported by the provider of this model.",
                    "messages",
                )
            parts += _parts(message.parts or (Text(message.text),))
    return parts


def _contents(messages: tuple[PromptMessage, ...], names: Names) -> list[Wire]:
    """The transcript with each side's consecutive messages as one, since results must be in one message."""
    sent = [message for message in with_unique_ids(messages) if not isinstance(message, SystemMessage)]
    calls = {call.id: call for each in sent if isinstance(each, AssistantMessage) for call in each.calls}
    order = {call_id: at for at, call_id in enumerate(calls)}
    contents: list[Wire] = []
    for role, side in groupby(sent, _role):
        parts: list[Wire] = []
        for results, group in groupby(side, lambda message: isinstance(message, ToolMessage)):
            # Results of calls of one name are matched by their order, where a model has no ids.
            for message in sorted(group, key=lambda each: _place(each, order)) if results else group:
                parts += _of_message(message, calls, names)
        if parts:
            contents.append({"role": role, "parts": parts})
    return contents


def _role(message: PromptMessage) -> str:
    return "model" if isinstance(message, AssistantMessage) else "user"


def _place(message: PromptMessage, order: dict[str, int]) -> int:
    return order.get(message.call_id, len(order)) if isinstance(message, ToolMessage) else 0


def _of_message(message: PromptMessage, calls: dict[str, SuggestedCall], names: Names) -> list[Wire]:
    if isinstance(message, AssistantMessage):
        return [*_said(message), *_calls(message, names)]
    if isinstance(message, ToolMessage):
        call = calls.get(message.call_id)
        return [_result(message, names.alias(call.name if call else message.name))]
    return _parts(message.parts or (Text(message.text),))


def _said(message: AssistantMessage) -> list[Wire]:
    """The parts before the calls: a signed piece of the text at its place, and an empty one after the text."""
    if message.parts:
        return _parts(message.parts)
    parts: list[Wire] = []
    last: list[Wire] = []
    done = 0
    for opaque in compatibility.parts(message.opaque, FAMILY):
        assert isinstance(opaque, Opaque)
        raw = opaque.raw
        piece = None if raw.get("thought") else raw.get("text")
        if CALL in raw:
            continue
        if piece == "":
            last.append(raw)
        elif not isinstance(piece, str):
            parts.append(raw)
        elif (at := message.text.find(piece, done)) >= 0:
            parts += [*_text(message.text[done:at]), raw]
            done = at + len(piece)
    return [*parts, *_text(message.text[done:]), *last]


def _calls(message: AssistantMessage, names: Names) -> list[Wire]:
    own = [part.raw for part in message.opaque if part.family == FAMILY and CALL in part.raw]
    signatures = {raw[CALL]: raw[SIGNATURE] for raw in own}
    parts: list[Wire] = []
    for at, call in enumerate(message.calls):
        given = _object(names.arguments_to_provider(call.name, call.arguments))
        part: Wire = {"functionCall": {"id": call.id, "name": names.alias(call.name), "args": given}}
        if at in signatures or at == 0:
            part[SIGNATURE] = signatures.get(at, _NO_SIGNATURE)
        parts.append(part)
    return parts


def _result(message: ToolMessage, name: str) -> Wire:
    text = "".join(part.text for part in message.parts if isinstance(part, Text)) if message.parts else message.content
    answer = {} if _LONG_NUMBER.search(text) else _object(text)
    if message.is_error:
        answer = {"error": answer or text}
    response: Wire = {"id": message.call_id, "name": name, "response": answer or {"output": text}}
    shown = [_part(part) for part in compatibility.parts(message.parts, FAMILY) if not isinstance(part, Text)]
    if shown:
        response["parts"] = shown
    return {"functionResponse": response}


def _parts(parts: Iterable[Part]) -> list[Wire]:
    made = map(_part, compatibility.parts(parts, FAMILY))
    # The API refuses a part with nothing in it.
    return [part for part in made if part != {"text": ""}]


def _part(part: Part) -> Wire:
    if isinstance(part, Opaque):
        return part.raw
    extra = compatibility.extra(part.family, part.extra, FAMILY)
    if isinstance(part, Document):
        return {**extra, "inlineData": {"mimeType": part.media_type, "data": part.data}}
    return {**extra, **(_image(part) if isinstance(part, Image) else {"text": part.text})}


def _image(image: Image) -> Wire:
    if not image.url:
        return {"inlineData": {"mimeType": image.media_type, "data": image.data}}
    kind = image.media_type or mimetypes.guess_type(image.url.partition("?")[0])[0]
    return {"fileData": {"fileUri": image.url, **({"mimeType": kind} if kind else {})}}


def _text(text: str) -> list[Wire]:
    return [{"text": text}] if text else []


def _object(text: str) -> Wire:
    """The object that the API demands: empty when the text is none."""
    try:
        value = orjson.loads(text)
        orjson.dumps(value)  # Objects may be nested deeper than can be written again.
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return {}
    return value if isinstance(value, dict) else {}
