"""Tools as each provider wants them told to a model, all from one ToolSpec.

A definition is a few small dicts around the spec's own schema, which is shared, not copied: it must not be changed by
who gets it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from tools.interface import Tier, ToolSpec

Rename = Callable[[str], str]
Definition = dict[str, Any]


def identity(name: str) -> str:
    """The name as it is."""
    return name


def openai(specs: Iterable[ToolSpec], rename: Rename = identity) -> list[Definition]:
    """OpenAI's function tools: `{"type": "function", "function": {name, description, parameters}}`."""
    return [
        {
            "type": "function",
            "function": {
                "name": rename(spec.name),
                "description": spec.description,
                "parameters": spec.parameters,
            },
        }
        for spec in specs
    ]


def anthropic(specs: Iterable[ToolSpec], rename: Rename = identity) -> list[Definition]:
    """Anthropic's tools: `{name, description, input_schema}`."""
    return [
        {"name": rename(spec.name), "description": spec.description, "input_schema": spec.parameters} for spec in specs
    ]


def gemini(specs: Iterable[ToolSpec], rename: Rename = identity) -> list[Definition]:
    """Gemini's one tool of many functions: `[{"functionDeclarations": [{name, description, parametersJsonSchema}]}]`.

    An empty list when there are no specs, since Gemini refuses a tool without functions.
    """
    functions = [
        {"name": rename(spec.name), "description": spec.description, "parametersJsonSchema": spec.parameters}
        for spec in specs
    ]
    return [{"functionDeclarations": functions}] if functions else []


def mcp(specs: Iterable[ToolSpec], rename: Rename = identity) -> list[Definition]:
    """MCP's tools: `{name, title, description, inputSchema, annotations}`; the annotations are what tier and kind say.

    A tool that only touches Toolgate's own database is no part of an open world.
    """
    return [
        {
            "name": rename(spec.name),
            "title": title(spec.name),
            "description": spec.description,
            "inputSchema": spec.parameters,
            "annotations": {
                "readOnlyHint": spec.tier is Tier.READ_ONLY,
                "destructiveHint": spec.tier is Tier.ELEVATED,
                "idempotentHint": spec.idempotent or spec.tier is Tier.READ_ONLY,
                "openWorldHint": not spec.transactional,
            },
        }
        for spec in specs
    ]


def title(name: str) -> str:
    """A tool's name for people: `github.create_issue` is "Github: create issue"."""
    service, dot, tool = name.rpartition(".")
    words = f"{service}{': ' if dot else ''}{tool}".replace("_", " ")
    return words[:1].upper() + words[1:]
