"""The body of a messages request, and of a request to count its tokens, as a ClientRequest."""

from typing import Any, Literal

from gateway.compat.messages import transcript
from gateway.compat.messages.fields import REQUIRED, Fields, refuse_depth, wrong
from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.anthropic.requests import PREFILL
from gateway.providers.interface import AssistantMessage, ClientTool, Options, ResponseFormat, ToolChoice
from gateway.runs.prompting.client_request import ClientRequest

_OURS = (
    *("model", "messages", "system", "stream", "max_tokens", "temperature", "top_p", "stop_sequences"),
    *("tools", "tool_choice", "output_config", "output_format"),
)
_CHOICES: dict[str, Literal["auto", "none", "required", "tool"]] = {
    "auto": "auto",
    "any": "required",
    "none": "none",
    "tool": "tool",
}
# Their calls have the names of members, which can be the names of managed tools.
_TOOLSETS = ("computer_toolset_", "browser_toolset_")


def read(given: dict[str, Any]) -> ClientRequest:
    """A request for an answer. Raises BadRequest."""
    asked = Fields(given)
    asked.need_text("model")
    if given.get("max_tokens") is None:
        raise wrong("max_tokens", REQUIRED)
    return counted(given)


def counted(given: dict[str, Any]) -> ClientRequest:
    """A request to count tokens, or for an answer. Raises BadRequest."""
    refuse_depth(given)
    asked = Fields(given)
    model = asked.need_text("model")
    messages = transcript.read(asked)
    tools = _tools(asked)
    choice, parallel = _choice(asked)
    response_format, config = _form(asked)
    extra = asked.rest(*_OURS)
    if config:
        extra["output_config"] = config
    last = messages[-1]
    if isinstance(last, AssistantMessage) and (last.text or last.opaque):
        extra[PREFILL] = True
    options = Options(
        max_output_tokens=asked.integer("max_tokens", 0),
        temperature=asked.number("temperature", 0, 1),
        top_p=asked.number("top_p", 0, 1),
        stop=_stop(asked),
        tool_choice=choice,
        parallel_tool_calls=parallel,
        response_format=response_format,
        family=FAMILY,
        extra=extra,
    )
    return ClientRequest(model, messages, tools, options, stream=asked.boolean("stream") or False, include_usage=True)


def _stop(asked: Fields) -> tuple[str, ...]:
    stops = asked.array("stop_sequences")
    for at, stop in enumerate(stops):
        if not isinstance(stop, str):
            raise wrong(f"stop_sequences.{at}", "Input should be a valid string")
    return tuple(stops)


def _tools(asked: Fields) -> tuple[ClientTool, ...]:
    tools = tuple(_tool(Fields.of(tool, f"tools.{at}")) for at, tool in enumerate(asked.array("tools")))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise wrong("tools", "Tool names must be unique.")
    return tools


def _tool(tool: Fields) -> ClientTool:
    kind = tool.text("type") or "custom"
    if kind.startswith(_TOOLSETS):
        raise wrong(f"{tool.at}.type", f"Toolsets such as {kind[:100]} are not supported")
    if kind != "custom":
        name = tool.text("name") or tool.text("mcp_server_name") or kind
        return ClientTool(name, family=FAMILY, raw=tool.values)
    custom = Fields(tool.values, f"{tool.at}.custom")
    name = custom.need_text("name")
    schema = custom.need_object("input_schema")
    if schema.need("type") != "object":
        raise wrong(schema.place("type"), "Input should be 'object'")
    return ClientTool(
        name,
        custom.text("description") or "",
        schema.values,
        strict=custom.boolean("strict"),
        family=FAMILY,
        raw=tool.values,
    )


def _choice(asked: Fields) -> tuple[ToolChoice | None, bool | None]:
    """Which calls the model may make, and whether several at once."""
    given = asked.object("tool_choice")
    if given is None:
        return None, None
    kind = given.need_text("type")
    if kind not in _CHOICES:
        expected = ", ".join(f"'{each}'" for each in _CHOICES)
        raise wrong(
            "tool_choice",
            f"Input tag '{kind[:100]}' found using 'type' does not match any of the expected tags: {expected}",
        )
    chosen = Fields(given.values, f"tool_choice.{kind}")
    chosen.only("type", "name" if kind == "tool" else "type", "disable_parallel_tool_use")
    name = chosen.need_text("name") if kind == "tool" else ""
    single = chosen.boolean("disable_parallel_tool_use")
    return ToolChoice(_CHOICES[kind], name), None if single is None else not single


def _form(asked: Fields) -> tuple[ResponseFormat | None, dict[str, Any]]:
    """The form of the final text, and what else is configured of the output; `output_format` is its older place."""
    config = asked.object("output_config")
    form = config.object("format") if config is not None else None
    form = form or asked.object("output_format")
    rest = config.rest("format") if config is not None else {}
    if form is None:
        return None, rest
    if form.need_text("type") != "json_schema":
        raise wrong(form.place("type"), "Input should be 'json_schema'")
    return ResponseFormat("json_schema", schema=form.need_object("schema").values), rest
