"""The tools of a Responses request, which of them may or must be called, and the form of the answer.

Tools that OpenAI runs itself are refused by name: providers are asked over chat completions, which have none.
"""

from typing import Any, Literal

from gateway.compat.openai_fields import Fields, WrongType, WrongValue
from gateway.compat.openai_tools import MAX_NAME_CHARACTERS, MAX_TOOLS, new_name
from gateway.compat.responses.input import SERVER
from gateway.providers.interface import ClientTool, ResponseFormat, ToolChoice

_Kind = Literal["none", "auto", "required"]
_MODES: tuple[_Kind, ...] = ("none", "auto", "required")
_OF_FUNCTION = ("type", "name", "description", "parameters", "strict", "output_schema")
_OF_CUSTOM = ("type", "name", "description", "format")


def tools(asked: Fields) -> tuple[ClientTool, ...]:
    """The client's tools. Raises BadRequest."""
    found: list[ClientTool] = []
    seen: set[str] = set()
    for index, each in enumerate(asked.array("tools", MAX_TOOLS)):
        tool = Fields.of(each, f"tools[{index}]")
        kind = tool.need_text("type", MAX_NAME_CHARACTERS)
        if kind not in ("function", "custom"):
            why = f"{kind!r} tools are run by OpenAI itself, and not supported here; use function or custom."
            raise WrongValue(tool.place("type"), why)
        found.append(_function(tool, seen) if kind == "function" else _custom(tool, seen))
    return tuple(found)


def _function(tool: Fields, seen: set[str]) -> ClientTool:
    name = new_name(tool, seen)
    _refuse_others(tool, _OF_FUNCTION)
    parameters = tool.object("parameters")
    schema = {"type": "object", "properties": {}} if parameters is None else parameters.values
    return ClientTool(name, tool.text("description") or "", schema, tool.boolean("strict"))


def _custom(tool: Fields, seen: set[str]) -> ClientTool:
    """A tool whose calls carry text of any form, as chat completions define it."""
    name = new_name(tool, seen)
    _refuse_others(tool, _OF_CUSTOM)
    description = tool.text("description") or ""
    custom: dict[str, Any] = {"name": name} | ({"description": description} if description else {})
    wanted = tool.object("format")
    if wanted is not None:
        kind = wanted.need_text("type")
        form = wanted.rest("type")
        custom["format"] = {"type": kind, "grammar": form} if kind == "grammar" else wanted.values
    return ClientTool(name, description, family="openai", raw={"type": "custom", "custom": custom})


def _refuse_others(tool: Fields, known: tuple[str, ...]) -> None:
    """Refuse fields that would change when and by whom the tool is called."""
    for name, value in tool.rest(*known).items():
        if value and value != ["direct"]:
            raise WrongValue(tool.place(name), "it is not supported here.")


def choice(asked: Fields, given: tuple[ClientTool, ...]) -> tuple[tuple[ClientTool, ...], ToolChoice | None]:
    """Those of the client's tools that may be called, and how; managed tools stay, and may be demanded as `mcp`.

    Raises BadRequest.
    """
    wanted = asked.values.get("tool_choice")
    if wanted is None:
        return given, None
    if isinstance(wanted, str):
        return given, _mode("tool_choice", wanted, _MODES)
    if not isinstance(wanted, dict):
        raise WrongType("tool_choice", "a string or an object", wanted)
    chosen = Fields(wanted, "tool_choice")
    kind = chosen.need_text("type")
    if kind == "allowed_tools":
        return _allowed(chosen, given)
    if kind in ("function", "custom") or (kind == "mcp" and chosen.need_text("server_label") == SERVER):
        return given, ToolChoice("tool", chosen.need_text("name", MAX_NAME_CHARACTERS))
    raise WrongValue("tool_choice.type", f"{kind[:100]!r} is not supported here; it may be function or custom.")


def _mode(at: str, value: str, modes: tuple[_Kind, ...]) -> ToolChoice:
    for mode in modes:
        if value == mode:
            return ToolChoice(mode)
    raise WrongValue(at, f"{value[:100]!r} is none of {', '.join(modes)}.")


def _allowed(chosen: Fields, given: tuple[ClientTool, ...]) -> tuple[tuple[ClientTool, ...], ToolChoice]:
    mode = _mode("tool_choice.mode", chosen.need_text("mode"), ("auto", "required"))
    chosen.need("tools")
    names = {
        Fields.of(each, f"tool_choice.tools[{index}]").text("name")
        for index, each in enumerate(chosen.array("tools", MAX_TOOLS))
    }
    return tuple(tool for tool in given if tool.name in names), mode


def response_format(text: Fields | None) -> ResponseFormat | None:
    """The form that the final text must have; None where any will do. Raises BadRequest."""
    wanted = text.object("format") if text is not None else None
    if wanted is None:
        return None
    kind = wanted.need_text("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return ResponseFormat("json_object")
    if kind != "json_schema":
        raise WrongValue(wanted.place("type"), f"{kind[:100]!r} is none of text, json_object and json_schema.")
    return ResponseFormat(
        "json_schema",
        wanted.need_text("name", MAX_NAME_CHARACTERS),
        wanted.text("description") or "",
        wanted.need_object("schema").values,
        wanted.boolean("strict"),
    )
