"""OpenAI's Responses as a compatible API.

Managed calls show as `mcp_call` items of the server "toolgate", and what humans must decide as `mcp_approval_request`.
Responses are stored whatever `store` says, like every run. Fields that are not ours go to a provider that speaks chat
completions as they came; those that it has no equal of are refused by name.
"""

from typing import Any

from gateway.compat.chat_completions import errors
from gateway.compat.interface import Reply, StreamWriter
from gateway.compat.openai_fields import Fields, WrongType, WrongValue, refuse_depth
from gateway.compat.responses import answers, ids
from gateway.compat.responses import input as responses_input
from gateway.compat.responses import tools as responses_tools
from gateway.compat.responses.stream import EventWriter
from gateway.providers.interface import Family, Options
from gateway.runs.errors import NoSuchResponse
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.prompting.pairing import paired

MAX_MODEL_CHARACTERS = 200
MAX_TOKENS = 2**31 - 1
MAX_INCLUDED = 100

_OURS = (
    *("model", "input", "instructions", "stream", "stream_options", "previous_response_id", "background", "include"),
    *("temperature", "top_p", "max_output_tokens", "text", "reasoning", "truncation", "metadata", "store"),
    *("tools", "tool_choice", "parallel_tool_calls"),
)
# What chat completions have no equal of, and what would change the answer.
_REFUSED = ("conversation", "prompt", "context_management", "max_tool_calls", "moderation", "top_logprobs")
# Fields that are passed on: what they hold is checked no further.
_TEXTS = ("user", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")


class Responses:
    """`POST /v1/responses`; see `CompatApi`."""

    name = "responses"
    family: Family = "openai"

    def parse(self, given: dict[str, Any]) -> ClientRequest:
        """The request out of its JSON object. Raises BadRequest, NoSuchResponse."""
        refuse_depth(given)
        asked = Fields(given)
        model = asked.need_text("model", MAX_MODEL_CHARACTERS)
        _refuse(asked)
        previous = _previous(asked)
        put = responses_input.read(asked, goes_on=previous is not None)
        # Results may be of calls that an earlier response made; then they are looked at beside those.
        alone = previous is None and not put.references
        text = asked.object("text")
        tools, tool_choice = responses_tools.choice(asked, responses_tools.tools(asked))
        return ClientRequest(
            model=model,
            messages=paired(put.messages) if alone else put.messages,
            client_tools=tools,
            options=Options(
                max_output_tokens=asked.integer("max_output_tokens", 1, MAX_TOKENS),
                temperature=asked.number("temperature", 0, 2),
                top_p=asked.number("top_p", 0, 1),
                tool_choice=tool_choice,
                parallel_tool_calls=asked.boolean("parallel_tool_calls"),
                response_format=responses_tools.response_format(text),
                family=self.family,
                extra=_extra(asked, text),
            ),
            stream=asked.boolean("stream") or False,
            previous=previous,
            instructions=asked.text("instructions") or "",
            references=put.references,
            approvals=put.approvals,
            echo=answers.echo(asked),
        )

    def body(self, reply: Reply) -> dict[str, Any]:
        """The response."""
        return answers.body(reply)

    def writer(self, *, id: str, created: int, model: str, request: ClientRequest) -> StreamWriter:
        """A writer for one streamed response."""
        return EventWriter(id=id, created=created, model=model, request=request)

    def error(self, status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
        """An error's JSON."""
        if (code, field) == ("not_found", "previous_response_id"):
            code = "previous_response_not_found"
        return errors.body(status, code, message, field)


def _previous(asked: Fields) -> str | None:
    given = asked.text("previous_response_id")
    if given is None:
        return None
    run_id = ids.run_of_response(given)
    if run_id is None:
        raise NoSuchResponse(given)
    return run_id


def _refuse(asked: Fields) -> None:
    """Refuse by name what cannot be done here."""
    for name in _REFUSED:
        if asked.values.get(name):
            raise WrongValue(name, "it is not supported here.")
    if asked.boolean("background"):
        raise WrongValue("background", "responses are not made in the background here.")
    truncation = asked.text("truncation")
    if truncation not in (None, "auto", "disabled"):
        raise WrongValue("truncation", f"{truncation[:100]!r} is neither auto nor disabled.")
    for index, each in enumerate(asked.array("include", MAX_INCLUDED)):
        if not isinstance(each, str):
            raise WrongType(f"include[{index}]", "a string", each)
        if each == "message.output_text.logprobs":
            raise WrongValue(f"include[{index}]", "log probabilities are not supported here.")


def _extra(asked: Fields, text: Fields | None) -> dict[str, Any]:
    """The fields that are none of ours, as chat completions name them."""
    for name in _TEXTS:
        asked.text(name)
    asked.boolean("store")
    asked.object("metadata")
    if asked.object("stream_options") is not None and not asked.boolean("stream"):
        raise WrongValue("stream_options", "it is only allowed where stream is true.")
    extra = asked.rest(*_OURS, *_REFUSED)
    reasoning = asked.object("reasoning")
    if reasoning is not None and (effort := reasoning.text("effort")):
        extra["reasoning_effort"] = effort
    if text is not None and (verbosity := text.text("verbosity")):
        extra["verbosity"] = verbosity
    return extra


API = Responses()
