"""OpenAI's chat completions as a compatible API.

Fields that are not ours go to a provider that speaks chat completions as they came. One choice is made (`n`), since
managed tools cannot be run for several. `allowed_tools` narrows the client's own tools; managed ones stay.
"""

from typing import Any

from gateway.compat.chat_completions import answers, errors, messages
from gateway.compat.chat_completions import tools as chat_completions_tools
from gateway.compat.chat_completions.stream import ChunkWriter
from gateway.compat.interface import Reply, StreamWriter
from gateway.compat.openai_fields import Fields, WrongType, WrongValue, checked, refuse_depth
from gateway.providers.interface import Family, Options
from gateway.runs.prompting.client_request import ClientRequest

MAX_MODEL_CHARACTERS = 200
MAX_TOKENS = 2**31 - 1
MAX_STOPS = 16

_OURS = (
    *("model", "messages", "stream", "stream_options", "n", "stop", "temperature", "top_p"),
    *("max_tokens", "max_completion_tokens", "response_format"),
    *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
)
# Fields that are passed on: what they hold is checked no further.
_TEXTS = ("user", "service_tier", "reasoning_effort", "verbosity", "safety_identifier", "prompt_cache_key")
_OBJECTS = ("metadata", "logit_bias", "audio", "prediction", "web_search_options")
_BOOLEANS = ("logprobs", "store")
_NUMBERS = ("frequency_penalty", "presence_penalty", "top_logprobs", "seed")
_PASSED_ON = frozenset({*_TEXTS, *_OBJECTS, *_BOOLEANS, *_NUMBERS})


class ChatCompletions:
    """`POST /v1/chat/completions`; see `CompatApi`."""

    name = "chat_completions"
    family: Family = "openai"

    def parse(self, given: dict[str, Any]) -> ClientRequest:
        """The request out of its JSON object. Raises BadRequest."""
        refuse_depth(given)
        asked = Fields(given)
        model = asked.need_text("model", MAX_MODEL_CHARACTERS)
        if asked.integer("n", 1, MAX_TOKENS) not in (None, 1):
            raise WrongValue("n", "only one choice can be made, since tools that run here run for one.")
        stream = asked.boolean("stream") or False
        include_usage, extra = _extra(asked, stream)
        tools = chat_completions_tools.tools(asked)
        legacy = bool(asked.values.get("functions"))
        tools, tool_choice = chat_completions_tools.choice(asked, tools)
        return ClientRequest(
            model=model,
            messages=messages.messages(asked),
            client_tools=tools,
            options=Options(
                max_output_tokens=_max_tokens(asked),
                temperature=asked.number("temperature", 0, 2),
                top_p=asked.number("top_p", 0, 1),
                stop=_stop(asked),
                tool_choice=tool_choice,
                # The older shape has room for one call.
                parallel_tool_calls=False if legacy else asked.boolean("parallel_tool_calls"),
                response_format=chat_completions_tools.response_format(asked),
                family=self.family,
                extra=extra,
            ),
            stream=stream,
            include_usage=include_usage,
            echo=answers.echo(tools, legacy),
        )

    def body(self, reply: Reply) -> dict[str, Any]:
        """The answer's JSON."""
        return answers.body(reply)

    def writer(self, *, id: str, created: int, model: str, request: ClientRequest) -> StreamWriter:
        """A writer for one streamed answer."""
        return ChunkWriter(id=id, created=created, model=model, request=request)

    def error(self, status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
        """An error's JSON."""
        return errors.body(status, code, message, field)


def _extra(asked: Fields, stream: bool) -> tuple[bool, dict[str, Any]]:
    """Whether usage is to be streamed, and the fields that are none of ours."""
    # Most requests name none of them.
    if not _PASSED_ON.isdisjoint(asked.values):
        for name in _TEXTS:
            asked.text(name)
        for name in _OBJECTS:
            asked.object(name)
        for name in _BOOLEANS:
            asked.boolean(name)
        for name in _NUMBERS:
            asked.number(name, float("-inf"), float("inf"))
    extra = asked.rest(*_OURS)
    options = asked.object("stream_options")
    if options is None:
        return False, extra
    if not stream:
        raise WrongValue("stream_options", "it is only allowed where stream is true.")
    if others := options.rest("include_usage"):
        extra["stream_options"] = others
    return options.boolean("include_usage") or False, extra


def _max_tokens(asked: Fields) -> int | None:
    older = asked.integer("max_tokens", 1, MAX_TOKENS)
    newer = asked.integer("max_completion_tokens", 1, MAX_TOKENS)
    if older is not None and newer is not None:
        raise WrongValue("max_tokens", "it cannot be combined with max_completion_tokens.")
    return older if newer is None else newer


def _stop(asked: Fields) -> tuple[str, ...]:
    given = asked.values.get("stop")
    if given is None:
        return ()
    if isinstance(given, str):
        return (checked(given, "stop"),)
    stops = asked.array("stop", MAX_STOPS)
    for index, each in enumerate(stops):
        if not isinstance(each, str):
            raise WrongType(f"stop[{index}]", "a string", each)
        checked(each, f"stop[{index}]")
    return tuple(stops)


API = ChatCompletions()
