"""The official SDKs, asked alike: each sends a transcript in its own shapes, and says what it was answered."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import anthropic
import openai

from tests.people import Person
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

Ask = dict[str, Any]
Tools = Mapping[str, dict[str, Any]]
NONE: Tools = MappingProxyType({})
WEATHER: Tools = {"get_weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the client's own tools."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer as its SDK parsed it; `items` are what the client adds to its transcript, `pieces` the text as it came
    when it was streamed."""

    text: str
    calls: list[Call]
    finish: str
    toolgate: dict[str, Any]
    items: list[Any]
    tokens: int
    pieces: list[str] = field(default_factory=list)


class ResponseFailed(Exception):
    """What a client makes of `response.failed`, which the SDK only tells."""


class Client(Protocol):
    """One SDK's way to ask; `errors` is where its exceptions are, `broken` what a stream that breaks ends in."""

    errors: Any
    broken: type[Exception]
    finishes: dict[str, str]

    def __init__(self, stack: Stack, person: Person) -> None: ...

    def user(self, text: str) -> Any:
        """A question."""
        ...

    def called(self, *calls: Call) -> list[Any]:
        """An answer that made calls, as a client makes it up."""
        ...

    def result(self, call: Call, text: str) -> Any:
        """What a call came to."""
        ...

    def ask(self, model: str, transcript: list[Any], *, tools: Tools = NONE, stream: bool = False) -> Said:
        """Ask, with tools of the client's own: schemas by name."""
        ...


class ChatCompletions:
    """openai.chat.completions."""

    errors = openai
    broken = openai.APIError
    finishes = {"stop": "stop", "calls": "tool_calls", "cut": "length"}

    def __init__(self, stack: Stack, person: Person) -> None:
        self.sdk = openai.OpenAI(
            api_key=person.key, base_url=f"{stack.url}/v1", max_retries=0, timeout=PATIENCE_SECONDS
        )

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def called(self, *calls: Call) -> list[Any]:
        made = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in calls
        ]
        return [{"role": "assistant", "content": None, "tool_calls": made}]

    def result(self, call: Call, text: str) -> Any:
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    def ask(self, model: str, transcript: list[Any], *, tools: Tools = NONE, stream: bool = False) -> Said:
        asked: Ask = {"model": model, "messages": transcript}
        if tools:
            functions = [{"name": name, "parameters": schema} for name, schema in tools.items()]
            asked["tools"] = [{"type": "function", "function": function} for function in functions]
        pieces: list[str] = []
        toolgate: Any = None
        if stream:
            with self.sdk.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
                for event in events:
                    if event.type == "content.delta":
                        pieces.append(event.delta)
                    elif event.type == "chunk":
                        toolgate = getattr(event.chunk, "toolgate", toolgate)
                answer: Any = events.get_final_completion()
        else:
            answer = self.sdk.chat.completions.create(**asked)
            toolgate = answer.toolgate
        choice = answer.choices[0]
        calls = [
            Call(call.id, call.function.name, json.loads(call.function.arguments))
            for call in choice.message.tool_calls or ()
        ]
        shown = choice.message.model_dump(exclude_none=True, exclude={"parsed"})
        for call in shown.get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
        tokens = answer.usage.total_tokens
        return Said(choice.message.content or "", calls, choice.finish_reason, toolgate, [shown], tokens, pieces)


class Messages:
    """anthropic.messages."""

    errors = anthropic
    broken = anthropic.APIStatusError
    finishes = {"stop": "end_turn", "calls": "tool_use", "cut": "max_tokens"}

    def __init__(self, stack: Stack, person: Person) -> None:
        self.sdk = anthropic.Anthropic(api_key=person.key, base_url=stack.url, max_retries=0, timeout=PATIENCE_SECONDS)

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def called(self, *calls: Call) -> list[Any]:
        made = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in calls]
        return [{"role": "assistant", "content": made}]

    def result(self, call: Call, text: str) -> Any:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": text}]}

    def ask(self, model: str, transcript: list[Any], *, tools: Tools = NONE, stream: bool = False) -> Said:
        asked: Ask = {"model": model, "messages": transcript, "max_tokens": 1000}
        if tools:
            asked["tools"] = [{"name": name, "input_schema": schema} for name, schema in tools.items()]
        pieces: list[str] = []
        toolgate: Any = None
        if stream:
            with self.sdk.messages.stream(**asked) as events:
                for event in events:
                    if event.type == "text":
                        pieces.append(event.text)
                    elif event.type == "message_delta":
                        toolgate = event.toolgate  # type: ignore[attr-defined]
                answer: Any = events.get_final_message()
        else:
            answer = self.sdk.messages.create(**asked)
            toolgate = answer.toolgate
        blocks = list(answer.content)
        text = "\n\n".join(block.text for block in blocks if block.type == "text")
        calls = [Call(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"]
        shown = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in blocks]}
        tokens = answer.usage.input_tokens + answer.usage.output_tokens
        return Said(text, calls, answer.stop_reason, toolgate, [shown], tokens, pieces)


class Responses:
    """openai.responses, which goes on from a transcript as the others do."""

    errors = openai
    broken = ResponseFailed
    finishes = {"stop": "completed", "calls": "completed", "cut": "incomplete"}

    def __init__(self, stack: Stack, person: Person) -> None:
        self.sdk = openai.OpenAI(
            api_key=person.key, base_url=f"{stack.url}/v1", max_retries=0, timeout=PATIENCE_SECONDS
        )

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def called(self, *calls: Call) -> list[Any]:
        return [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}
            for call in calls
        ]

    def result(self, call: Call, text: str) -> Any:
        return {"type": "function_call_output", "call_id": call.id, "output": text}

    def ask(self, model: str, transcript: list[Any], *, tools: Tools = NONE, stream: bool = False) -> Said:
        asked: Ask = {"model": model, "input": transcript}
        if tools:
            functions = [{"name": name, "parameters": schema} for name, schema in tools.items()]
            asked["tools"] = [{"type": "function", "strict": False, **function} for function in functions]
        pieces: list[str] = []
        if stream:
            with self.sdk.responses.stream(**asked) as events:
                for event in events:
                    if event.type == "response.output_text.delta":
                        pieces.append(event.delta)
                    elif event.type == "response.failed" and event.response.error:
                        raise ResponseFailed(event.response.error.message)
                answer: Any = events.get_final_response()
        else:
            answer = self.sdk.responses.create(**asked)
        said = [item for item in answer.output if item.type == "message"]
        text = "\n\n".join("".join(part.text for part in item.content) for item in said)
        calls = [
            Call(item.call_id, item.name, json.loads(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        shown = [item.model_dump(exclude_none=True) for item in answer.output]
        for item in shown:
            item.pop("parsed_arguments", None)
            for part in item.get("content", ()):
                part.pop("parsed", None)
        return Said(text, calls, answer.status, answer.toolgate, shown, answer.usage.total_tokens, pieces)


CLIENTS: dict[str, Callable[[Stack, Person], Client]] = {
    "chat completions": ChatCompletions,
    "messages": Messages,
    "responses": Responses,
}
