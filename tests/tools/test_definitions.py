import pytest
from anthropic.types import ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from tools import definitions
from tools.interface import Tier, ToolSpec
from tools.registry import registry

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
SPEC = ToolSpec("weather.today", "Today's weather.", SCHEMA, Tier.READ_ONLY)


def underscored(name):
    return name.replace(".", "__")


def test_openai_is_told_of_a_function():
    assert definitions.openai([SPEC], underscored) == [
        {
            "type": "function",
            "function": {"name": "weather__today", "description": "Today's weather.", "parameters": SCHEMA},
        }
    ]


def test_anthropic_is_told_of_a_tool():
    assert definitions.anthropic([SPEC], underscored) == [
        {"name": "weather__today", "description": "Today's weather.", "input_schema": SCHEMA}
    ]


def test_gemini_is_told_of_one_tool_with_every_function():
    assert definitions.gemini([SPEC, SPEC]) == [
        {
            "functionDeclarations": [
                {"name": "weather.today", "description": "Today's weather.", "parametersJsonSchema": SCHEMA}
            ]
            * 2
        }
    ]


@pytest.mark.parametrize("style", [definitions.openai, definitions.anthropic, definitions.gemini, definitions.mcp])
def test_no_tools_is_an_empty_list(style):
    assert style([]) == []


@pytest.mark.parametrize(
    ("tier", "read_only", "destructive"),
    [
        (Tier.READ_ONLY, True, False),
        (Tier.WORKSPACE, False, False),
        (Tier.SYSTEM, False, False),
        (Tier.ELEVATED, False, True),
    ],
)
def test_mcp_is_told_of_a_tool_with_its_tier_as_hints(tier, read_only, destructive):
    assert definitions.mcp([ToolSpec("weather.today", "Today's weather.", SCHEMA, tier)]) == [
        {
            "name": "weather.today",
            "title": "Weather: today",
            "description": "Today's weather.",
            "inputSchema": SCHEMA,
            "annotations": {
                "readOnlyHint": read_only,
                "destructiveHint": destructive,
                "idempotentHint": read_only,
                "openWorldHint": True,
            },
        }
    ]


@pytest.mark.parametrize("tool", registry().all(), ids=lambda tool: tool.name)
def test_every_bundled_tool_has_the_shape_that_the_official_sdks_declare(tool):
    (for_openai,) = definitions.openai([tool.spec])
    (for_anthropic,) = definitions.anthropic([tool.spec])
    assert TypeAdapter(ChatCompletionFunctionToolParam).validate_python(for_openai) == for_openai
    assert TypeAdapter(ToolParam).validate_python(for_anthropic) == for_anthropic
    assert for_anthropic["input_schema"] is tool.parameters
