"""The tools that the official conformance suite calls, as another package would bring them."""

import asyncio
from typing import Any, ClassVar

from tools.errors import ToolExecutionError
from tools.interface import Tier, Tool, ToolContext, ToolResult

_NONE: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
# The smallest PNG: one pixel.
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
# The head of a WAV file without a sample.
_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


class _Answer(Tool):
    """Answers as an MCP server would, always the same."""

    parameters = _NONE
    tier = Tier.READ_ONLY
    rate = "100000/m"
    parallel_safe = True
    content: ClassVar[list[dict[str, Any]]]

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult({"content": self.content}, "answered")


class SimpleText(_Answer):
    name = "test_simple_text"
    description = "Answer with a text."
    content = [{"type": "text", "text": "This is a simple text response for testing."}]


class ImageContent(_Answer):
    name = "test_image_content"
    description = "Answer with an image."
    content = [{"type": "image", "data": _PNG, "mimeType": "image/png"}]


class AudioContent(_Answer):
    name = "test_audio_content"
    description = "Answer with a sound."
    content = [{"type": "audio", "data": _WAV, "mimeType": "audio/wav"}]


class EmbeddedResource(_Answer):
    name = "test_embedded_resource"
    description = "Answer with a resource."
    content = [
        {
            "type": "resource",
            "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "An embedded resource."},
        }
    ]


class MultipleContentTypes(_Answer):
    name = "test_multiple_content_types"
    description = "Answer with a text, an image and a resource."
    content = [
        {"type": "text", "text": "Several kinds:"},
        {"type": "image", "data": _PNG, "mimeType": "image/png"},
        {
            "type": "resource",
            "resource": {"uri": "test://mixed", "mimeType": "application/json", "text": '{"test":"data","value":123}'},
        },
    ]


class ErrorHandling(_Answer):
    name = "test_error_handling"
    description = "Fail."

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        raise ToolExecutionError("This tool intentionally returns an error for testing")


class WithProgress(_Answer):
    name = "test_tool_with_progress"
    description = "Take a while."

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        await asyncio.sleep(0.1)
        return ToolResult("done", "done")


class StreamingElicitation(SimpleText):
    name = "test_streaming_elicitation"


class LoggingTool(SimpleText):
    name = "test_logging_tool"


class Greet(_Answer):
    name = "greet"
    description = "Greet somebody."
    parameters = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False}

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult(f"Hello, {params.get('name')}!", "greeted")


class SlowCompute(_Answer):
    name = "slow_compute"
    description = "Take as many seconds as asked for."
    parameters = {
        "type": "object",
        "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}},
        "additionalProperties": False,
    }

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        await asyncio.sleep(params.get("seconds", 0))
        return ToolResult({"seconds": params.get("seconds", 0)}, "computed")


class FailingJob(_Answer):
    name = "failing_job"
    description = "Fail after a second."

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        await asyncio.sleep(1.2)
        raise ToolExecutionError("The job failed.")


class CustomHeader(_Answer):
    name = "test_custom_header"
    description = "Take a region, which the client repeats in a header."
    content = [{"type": "text", "text": "done"}]
    parameters = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
        "additionalProperties": False,
    }
