"""The tools that the official conformance suite calls, as another package would bring them."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from asgiref.sync import sync_to_async
from django.db import connections

from tools.errors import ToolExecutionError
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.questions import InputRequired, Question

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
        for percent in (0, 50, 100):
            ctx.report(percent, 100, f"Completed step {percent} of 100")
            await asyncio.sleep(0.3)
        return ToolResult("done", "done")


class WithLogging(_Answer):
    name = "test_tool_with_logging"
    description = "Say what happens."
    content = [{"type": "text", "text": "logged"}]

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        ctx.log("info", "Tool execution started")
        ctx.log("debug", {"step": 1}, "inside")
        await asyncio.sleep(0.05)
        ctx.log("info", "Tool processing data")
        await asyncio.sleep(0.05)
        ctx.log("info", "Tool execution completed")
        return ToolResult({"content": self.content}, "logged")


class TriggerToolChange(_Answer):
    name = "test_trigger_tool_change"
    description = "Change the list of tools."
    content = [{"type": "text", "text": "changed"}]

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        await sync_to_async(self._within)(ctx)
        return await super().execute(params, ctx)

    def _within(self, ctx: ToolContext) -> None:
        from tenants.scope import transactions

        try:
            with transactions.scope(ctx.tenant_id, ctx.user_id):
                self.change()
        finally:
            connections["default"].close()

    def change(self) -> None:
        """As an owner who changes their mind."""
        from services import changes

        tier = changes.found_tool("suite", "echo").tier
        changes.change_tool("suite", "echo", {"tier": "read_only" if tier == "system" else "system"})


class TriggerPromptChange(TriggerToolChange):
    name = "test_trigger_prompt_change"
    description = "Change the list of prompts."

    def change(self) -> None:
        """As an owner who changes their mind."""
        from services import changes

        changes.change("suite", {"in_prompts": not changes.found("suite").in_prompts})


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


class Gated(_Answer):
    name = "gated"
    description = "Say how far it is, and go on from there once a file is there."
    parameters = {
        "type": "object",
        "properties": {"files": {"type": "array", "items": {"type": "string"}}},
        "required": ["files"],
        "additionalProperties": False,
    }

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        for percent, file in zip((0, 50), params["files"], strict=False):
            # Again and again: who begins to listen late has not heard what was said before.
            ctx.report(percent, 100)
            while not Path(file).exists():
                await asyncio.sleep(0.02)
                ctx.report(percent, 100)
        ctx.report(100, 100)
        return ToolResult({"gates": len(params["files"])}, "passed")


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


def _asked(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT = {"type": "string"}
_NAME = Question("user_name", "What is your name?", _asked(name=_TEXT))
_CONFIRM = Question("confirm", "Please confirm", _asked(ok={"type": "boolean"}))


def _sampling(key: str, prompt: str) -> Question:
    said = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    return Question(
        key, "", request={"method": "sampling/createMessage", "params": {"messages": said, "maxTokens": 100}}
    )


_ROOTS = Question("client_roots", "", request={"method": "roots/list", "params": {}})


class _AskingTool(_Answer):
    """Asks in rounds, and says what it was answered."""

    description = "Ask."
    rounds: ClassVar[list[tuple[Question, ...]]]

    def asked(self, params: dict[str, Any]) -> list[tuple[Question, ...]]:
        return self.rounds

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        done, rounds = ctx.state or 0, self.asked(params)
        if done < len(rounds):
            raise InputRequired(rounds[done], done + 1)
        answers = {key: [answer.action, answer.content] for key, answer in ctx.answers.items()}
        return ToolResult({"content": [{"type": "text", "text": f"state-ok {answers}"}]}, "answered")


class InputElicitation(_AskingTool):
    name = "test_input_required_result_elicitation"
    rounds = [(_NAME,)]


class InputSampling(_AskingTool):
    name = "test_input_required_result_sampling"
    rounds = [(_sampling("capital_question", "What is the capital of France?"),)]


class InputListRoots(_AskingTool):
    name = "test_input_required_result_list_roots"
    rounds = [(_ROOTS,)]


class InputRequestState(_AskingTool):
    name = "test_input_required_result_request_state"
    rounds = [(_CONFIRM,)]


class InputMultipleInputs(_AskingTool):
    name = "test_input_required_result_multiple_inputs"
    rounds = [(_NAME, _sampling("greeting", "Generate a greeting"), _ROOTS)]


class InputMultiRound(_AskingTool):
    name = "test_input_required_result_multi_round"
    rounds = [
        (Question("step1", "Step 1: What is your name?", _asked(name=_TEXT)),),
        (Question("step2", "Step 2: What is your favorite color?", _asked(color=_TEXT)),),
    ]


class InputTamperedState(_AskingTool):
    name = "test_input_required_result_tampered_state"
    rounds = [(_CONFIRM,)]


class InputCapabilities(_AskingTool):
    name = "test_input_required_result_capabilities"
    rounds = [(_NAME, _sampling("greeting", "Generate a greeting"))]


class MissingCapability(_AskingTool):
    name = "test_missing_capability"
    rounds = [(_sampling("greeting", "Generate a greeting"),)]


class Elicitation(_AskingTool):
    name = "test_elicitation"
    parameters = {"type": "object", "properties": {"message": {"type": "string"}}, "additionalProperties": False}

    def asked(self, params: dict[str, Any]) -> list[tuple[Question, ...]]:
        return [(Question("ask", params["message"], _asked(username=_TEXT, email=_TEXT)),)]


class Sampling(_AskingTool):
    name = "test_sampling"
    parameters = {"type": "object", "properties": {"prompt": {"type": "string"}}, "additionalProperties": False}

    def asked(self, params: dict[str, Any]) -> list[tuple[Question, ...]]:
        return [(_sampling("ask", params["prompt"]),)]


class ElicitationDefaults(_AskingTool):
    name = "test_elicitation_sep1034_defaults"
    rounds = [
        (
            Question(
                "ask",
                "Please review and update the form fields with defaults",
                {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "User name", "default": "John Doe"},
                        "age": {"type": "integer", "description": "User age", "default": 30},
                        "score": {"type": "number", "description": "User score", "default": 95.5},
                        "status": {
                            "type": "string",
                            "description": "User status",
                            "enum": ["active", "inactive", "pending"],
                            "default": "active",
                        },
                        "verified": {"type": "boolean", "description": "Verified", "default": True},
                    },
                    "required": [],
                },
            ),
        )
    ]


def _titled(*names: str) -> list[dict[str, str]]:
    return [{"const": f"value{number}", "title": name} for number, name in enumerate(names, 1)]


class ElicitationEnums(_AskingTool):
    name = "test_elicitation_sep1330_enums"
    rounds = [
        (
            Question(
                "ask",
                "Please select options from the enum fields",
                {
                    "type": "object",
                    "properties": {
                        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
                        "titledSingle": {"type": "string", "oneOf": _titled("First", "Second", "Third")},
                        "legacyEnum": {
                            "type": "string",
                            "enum": ["opt1", "opt2", "opt3"],
                            "enumNames": ["Option One", "Option Two", "Option Three"],
                        },
                        "untitledMulti": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 3,
                            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
                        },
                        "titledMulti": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 3,
                            "items": {"anyOf": _titled("First Choice", "Second Choice", "Third Choice")},
                        },
                    },
                    "required": [],
                },
            ),
        )
    ]
