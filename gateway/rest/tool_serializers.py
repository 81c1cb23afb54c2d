"""The shapes of tools: as Toolgate lists them, as each provider wants them defined, and who may call them."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from gateway.rest.call_serializers import TIERS, GateAnswer
from gateway.rest.framework.fields import Constant

_SCHEMA = "A JSON Schema of the arguments."


class Tool(serializers.Serializer[Any]):
    """A tool that the caller may use."""

    name = serializers.CharField()
    description = serializers.CharField()
    parameters = serializers.DictField(help_text=_SCHEMA)
    tier = serializers.ChoiceField(choices=TIERS)
    rate_limit = serializers.CharField(help_text="10/m: ten calls a minute.")
    parallel_safe = serializers.BooleanField()


class OpenAIFunction(serializers.Serializer[Any]):
    """The function of an OpenAI tool."""

    name = serializers.CharField()
    description = serializers.CharField()
    parameters = serializers.DictField(help_text=_SCHEMA)


class OpenAITool(serializers.Serializer[Any]):
    """A tool as OpenAI wants it (`?style=openai`)."""

    type = Constant("function")
    function = OpenAIFunction()


class AnthropicTool(serializers.Serializer[Any]):
    """A tool as Anthropic wants it (`?style=anthropic`)."""

    name = serializers.CharField()
    description = serializers.CharField()
    input_schema = serializers.DictField(help_text=_SCHEMA)


class GeminiFunction(serializers.Serializer[Any]):
    """A function of a Gemini tool."""

    name = serializers.CharField()
    description = serializers.CharField()
    parametersJsonSchema = serializers.DictField(help_text=_SCHEMA)


class GeminiTool(serializers.Serializer[Any]):
    """All tools as Gemini wants them (`?style=gemini`)."""

    functionDeclarations = GeminiFunction(many=True)


class McpAnnotations(serializers.Serializer[Any]):
    """A tool's tier and kind as the hints that MCP has."""

    readOnlyHint = serializers.BooleanField()
    destructiveHint = serializers.BooleanField()
    idempotentHint = serializers.BooleanField()
    openWorldHint = serializers.BooleanField(help_text="False: it only touches Toolgate's own database.")


class McpTool(serializers.Serializer[Any]):
    """A tool as MCP lists it (`?style=mcp`)."""

    name = serializers.CharField()
    title = serializers.CharField(help_text="The name, for people.")
    description = serializers.CharField()
    inputSchema = serializers.DictField(help_text=_SCHEMA)
    annotations = McpAnnotations()


# They are told apart by the fields that they have: only one of them is valid for any tool.
AnyTool = PolymorphicProxySerializer(
    component_name="AnyTool",
    serializers=[Tool, OpenAITool, AnthropicTool, GeminiTool, McpTool],
    resource_type_field_name=None,
)


class ToolList(serializers.Serializer[Any]):
    """The caller's tools, all in the style that was asked for: `Tool` without one."""

    tools = serializers.ListField(child=AnyTool)


class ToolAccess(serializers.Serializer[Any]):
    """Whether the caller may call a tool."""

    tool = serializers.CharField()
    tier = serializers.ChoiceField(choices=TIERS)
    allowed = serializers.BooleanField(help_text="Whether every gate says yes, if need be once a human has approved.")
    gates = GateAnswer(many=True, help_text="Each gate's answer, in order; the arguments are not asked about.")
