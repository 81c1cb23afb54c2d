"""The tools of a chat completions request, which of them may or must be called, and the form of the answer."""

from typing import Any, Literal

from gateway.compat.openai_fields import Fields, WrongType, WrongValue
from gateway.compat.openai_tools import MAX_NAME_CHARACTERS, MAX_TOOLS, new_name
from gateway.providers.interface import ClientTool, ResponseFormat, ToolChoice

_Kind = Literal["none", "auto", "required"]


def tools(asked: Fields) -> tuple[ClientTool, ...]:
    """The client's tools, of `tools` or of the older `functions`. Raises BadRequest."""
    functions = asked.array("functions", MAX_TOOLS)
    if functions and asked.array("tools", MAX_TOOLS):
        raise WrongValue("functions", "it cannot be combined with tools.")
    found: list[ClientTool] = []
    seen: set[str] = set()
    for index, each in enumerate(functions):
        function = Fields.of(each, f"functions[{index}]")
        found.append(_function(function, {"type": "function", "function": function.values}, seen))
    for index, each in enumerate(asked.array("tools", MAX_TOOLS)):
        found.append(_tool(Fields.of(each, f"tools[{index}]"), seen))
    return tuple(found)


def _tool(tool: Fields, seen: set[str]) -> ClientTool:
    kind = tool.need_text("type", MAX_NAME_CHARACTERS)
    if kind == "function":
        return _function(tool.need_object("function"), tool.values, seen)
    if kind == "custom":
        custom = tool.need_object("custom")
        name = new_name(custom, seen)
        return ClientTool(name, custom.text("description") or "", family="openai", raw=tool.values)
    # The provider runs it, and knows what it is.
    return ClientTool(kind, family="openai", raw=tool.values)


def _function(function: Fields, raw: dict[str, Any], seen: set[str]) -> ClientTool:
    name = new_name(function, seen)
    description = function.text("description") or ""
    parameters = function.object("parameters")
    schema = {"type": "object", "properties": {}} if parameters is None else parameters.values
    return ClientTool(name, description, schema, function.boolean("strict"), "openai", raw)


def choice(asked: Fields, given: tuple[ClientTool, ...]) -> tuple[tuple[ClientTool, ...], ToolChoice | None]:
    """Those tools that may be called, and how; managed tools are not among them, and may be called too.

    Raises BadRequest.
    """
    legacy = asked.values.get("function_call")
    wanted = asked.values.get("tool_choice")
    if legacy is not None:
        if not asked.values.get("functions"):
            raise WrongValue("function_call", "it is only allowed where functions are given.")
        if isinstance(legacy, dict):
            return given, ToolChoice("tool", Fields(legacy, "function_call").need_text("name", MAX_NAME_CHARACTERS))
        return given, _kind("function_call", legacy, ("none", "auto"))
    if wanted is None:
        return given, None
    if not isinstance(wanted, dict):
        return given, _kind("tool_choice", wanted, ("none", "auto", "required"))
    fields = Fields(wanted, "tool_choice")
    kind = fields.need_text("type")
    if kind == "allowed_tools":
        return _allowed(fields.need_object("allowed_tools"), given)
    if kind not in ("function", "custom"):
        raise WrongValue("tool_choice.type", f"{kind[:100]!r} is none of function, custom and allowed_tools.")
    return given, ToolChoice("tool", fields.need_object(kind).need_text("name", MAX_NAME_CHARACTERS))


def _kind(name: str, value: object, kinds: tuple[_Kind, ...]) -> ToolChoice:
    if not isinstance(value, str):
        raise WrongType(name, "a string or an object", value)
    for kind in kinds:
        if value == kind:
            return ToolChoice(kind)
    raise WrongValue(name, f"{value[:100]!r} is none of {', '.join(kinds)}.")


def _allowed(allowed: Fields, given: tuple[ClientTool, ...]) -> tuple[tuple[ClientTool, ...], ToolChoice]:
    mode = _kind(allowed.place("mode"), allowed.need("mode"), ("auto", "required"))
    allowed.need("tools")
    at = allowed.place("tools")
    names: set[str] = set()
    for index, each in enumerate(allowed.array("tools", MAX_TOOLS)):
        tool = Fields.of(each, f"{at}[{index}]")
        kind = tool.need_text("type")
        names.add(tool.need_object(kind).need_text("name") if kind in ("function", "custom") else kind)
    return tuple(tool for tool in given if tool.name in names), mode


def response_format(asked: Fields) -> ResponseFormat | None:
    """The form that the final text must have; None where any will do. Raises BadRequest."""
    wanted = asked.object("response_format")
    if wanted is None:
        return None
    kind = wanted.need_text("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return ResponseFormat("json_object")
    if kind != "json_schema":
        raise WrongValue("response_format.type", f"{kind[:100]!r} is none of text, json_object and json_schema.")
    described = wanted.need_object("json_schema")
    schema = described.object("schema")
    return ResponseFormat(
        "json_schema",
        described.need_text("name", MAX_NAME_CHARACTERS),
        described.text("description") or "",
        None if schema is None else schema.values,
        described.boolean("strict"),
    )
