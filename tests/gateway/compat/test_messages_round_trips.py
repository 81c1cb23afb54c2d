"""What is written is read again: prompts by the surface, answers by the adapter, streams by the SDK."""

import json
from typing import Any

import anthropic
from anthropic.lib.streaming._messages import accumulate_event
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.compat.interface import Reply, TurnReply
from gateway.compat.messages.api import API
from gateway.providers.anthropic import answers, requests
from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Image,
    Opaque,
    Options,
    Prompt,
    PromptMessage,
    ResponseFormat,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolChoice,
    ToolMessage,
    Usage,
    UserMessage,
)
from gateway.providers.translation.names import Names
from tests.gateway.compat.test_messages import parsed

FEW = settings(max_examples=200, deadline=None)
# A character that is not white space comes first, since what is blank is left out.
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(lambda text: f"x{text}")
NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,20}", fullmatch=True)
JSON = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=3)
CACHED: dict[str, Any] = {"family": "anthropic", "extra": {"cache_control": {"type": "ephemeral"}}}
EXTRA = st.sampled_from([{}, CACHED])
TEXTS = st.builds(lambda text, more: Text(text, **more), WORDS, EXTRA)
IMAGES = st.builds(lambda data, more: Image("image/png", data, **more), WORDS, EXTRA) | st.builds(
    lambda url, more: Image(url=url, **more), WORDS, EXTRA
)
THOUGHTS = st.builds(
    lambda thinking, signature: Opaque("anthropic", {"type": "thinking", "thinking": thinking, "signature": signature}),
    WORDS,
    WORDS,
)
DOCUMENTS = st.builds(lambda raw: Opaque("anthropic", {**raw, "type": "document"}), OBJECTS)
PARTS = TEXTS | IMAGES | DOCUMENTS


def said(parts: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The text of parts as the surface reads it, and the parts where they are more than that."""
    text = "\n\n".join(part.text for part in parts if isinstance(part, Text))
    return text, () if parts == [Text(text)] else tuple(parts)


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[PromptMessage, ...]:
    messages: list[PromptMessage] = []
    if draw(st.booleans()):
        text, shown = said(draw(st.lists(TEXTS, min_size=1, max_size=3)))
        messages.append(SystemMessage(text, parts=shown))
    messages.append(UserMessage(*said(draw(st.lists(PARTS, min_size=1, max_size=3)))))
    for turn in range(draw(st.integers(0, 3))):
        calls = tuple(
            SuggestedCall(f"toolu_{turn}_{at}", draw(NAMES), json.dumps(draw(OBJECTS)), **draw(EXTRA))
            for at in range(draw(st.integers(0, 3)))
        )
        parts: list[Any] = draw(st.lists(TEXTS | THOUGHTS, min_size=0 if calls else 1, max_size=4))
        opaque = tuple(part for part in parts if isinstance(part, Opaque))
        text, _ = said([part for part in parts if isinstance(part, Text)])
        plain = [*opaque, *([Text(text)] if text else [])]
        messages.append(AssistantMessage(text, calls, opaque, () if plain == parts else tuple(parts)))
        for call in calls:
            text, shown = said(draw(st.lists(PARTS, max_size=2)))
            messages.append(ToolMessage(call.id, call.name, text, shown, draw(st.booleans()), **draw(EXTRA)))
        if not calls or draw(st.booleans()):
            messages.append(UserMessage(*said(draw(st.lists(PARTS, min_size=1, max_size=2)))))
    return tuple(messages)


TOOLS = st.lists(
    st.builds(lambda name, schema: {"name": name, "input_schema": {**schema, "type": "object"}}, NAMES, OBJECTS),
    unique_by=lambda tool: tool["name"].lower(),
    max_size=3,
).map(lambda raws: tuple(ClientTool(raw["name"], "", raw["input_schema"], None, "anthropic", raw) for raw in raws))
OPTIONS = st.builds(
    Options,
    max_output_tokens=st.integers(0, 10**6),
    temperature=st.none() | st.floats(0, 1),
    top_p=st.none() | st.floats(0, 1),
    stop=st.lists(WORDS, max_size=2).map(tuple),
    response_format=st.none() | OBJECTS.map(lambda schema: ResponseFormat("json_schema", schema=schema)),
    family=st.just("anthropic"),
    extra=st.dictionaries(st.sampled_from(["thinking", "metadata", "top_k", "container"]), JSON, max_size=3),
)
CHOICES = st.none() | st.sampled_from([ToolChoice(kind) for kind in ("auto", "none", "required")])  # type: ignore[arg-type]


def normal(message: PromptMessage) -> PromptMessage:
    """The message with its arguments written alike."""
    if isinstance(message, AssistantMessage):
        calls = tuple(
            SuggestedCall(
                call.id, call.name, json.dumps(json.loads(call.arguments), sort_keys=True), call.family, call.extra
            )
            for call in message.calls
        )
        return AssistantMessage(message.text, calls, message.opaque, message.parts)
    return message


@given(transcripts(), TOOLS, OPTIONS)
@FEW
def test_a_prompt_written_for_the_api_is_read_again_as_it_was(
    messages: tuple[PromptMessage, ...], tools: tuple[ClientTool, ...], options: Options
) -> None:
    names = Names(tool.name for tool in tools)
    body = requests.body(Prompt("claude", messages, client_tools=tools, options=options), names)
    request = API.parse(json.loads(json.dumps(body)))
    prefill = {"prefill": True} if isinstance(messages[-1], AssistantMessage) else {}
    assert list(map(normal, request.messages)) == list(map(normal, messages))
    assert request.client_tools == tools
    assert request.options == Options(
        **{
            **{name: getattr(options, name) for name in Options.__slots__},
            "extra": options.extra | prefill,
        }
    )


@given(TOOLS.filter(bool), CHOICES, st.sampled_from([None, False]))
@FEW
def test_the_choice_of_tools_is_read_again_as_it_was(
    tools: tuple[ClientTool, ...], choice: ToolChoice | None, parallel: bool | None
) -> None:
    options = Options(tool_choice=choice, parallel_tool_calls=parallel)
    prompt = Prompt("claude", (UserMessage("hi"),), client_tools=tools, options=options)
    read = API.parse(requests.body(prompt, Names(()))).options
    if choice is None and parallel is False:
        choice = ToolChoice()
    assert (read.tool_choice, read.parallel_tool_calls) == (
        choice,
        None if choice == ToolChoice("none") else parallel,
    )


CALLS = st.lists(st.tuples(NAMES, OBJECTS), max_size=3).map(
    lambda made: tuple(SuggestedCall(f"toolu_{at}", name, json.dumps(given)) for at, (name, given) in enumerate(made))
)
CITATION = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0, "end_char_index": 1}


@st.composite
def turns(draw: st.DrawFn, number: int) -> TurnReply:
    """A turn of thoughts, and of pieces of text with and without citations."""
    text, opaque = "", list(draw(st.lists(THOUGHTS, max_size=2)))
    for piece in draw(st.lists(WORDS, max_size=4)):
        text += piece
        if draw(st.booleans()):
            opaque.append(Opaque("anthropic", {"type": "text", "text": piece, "citations": [CITATION]}))
    return TurnReply(number, text, tuple(opaque))


@given(turns(1), CALLS, st.integers(0, 10**9), st.integers(0, 10**9))
@FEW
def test_an_answer_written_for_clients_is_read_again_as_it_was(
    turn: TurnReply, calls: tuple[SuggestedCall, ...], tokens: int, cached: int
) -> None:
    usage = Usage(tokens + cached, tokens, cached)
    reply = Reply("0" * 32, 1, "m", (turn,), calls, "tool_calls" if calls else "stop", usage, {})
    read = answers.read(json.loads(json.dumps(API.body(reply))), Names(()))
    assert (read.text, read.opaque) == (turn.text, turn.opaque)
    assert [(call.id, call.name, json.loads(call.arguments)) for call in read.calls] == [
        (call.id, call.name, json.loads(call.arguments)) for call in calls
    ]
    assert (read.finish_reason, read.usage) == (reply.finish_reason, usage)


def sdk(stream: bytes) -> Any:
    """The message that the SDK makes of a stream."""
    message: Any = None
    bufs: dict[int, bytes] = {}
    for event in stream.split(b"\n\n"):
        if event and not event.startswith(b"event: ping"):
            data: Any = json.loads(event.split(b"data: ", 1)[1])
            message = accumulate_event(event=data, current_snapshot=message, json_bufs=bufs)
    return message


@given(st.tuples(turns(1), turns(2)), CALLS, st.data())
@FEW
def test_a_stream_says_all_of_an_answer_however_its_parts_come(
    both: tuple[TurnReply, TurnReply], calls: tuple[SuggestedCall, ...], data: st.DataObject
) -> None:
    reply = Reply("0" * 32, 1, "m", both, calls, "tool_calls" if calls else "stop", Usage(), {"run_id": "r"})
    to = API.writer(id="0" * 32, created=1, model="m", request=parsed())
    sent = [to.begin()]
    for turn in both:
        parts, text = list(turn.opaque), turn.text
        for takes_part in data.draw(st.lists(st.booleans(), max_size=10)):
            if takes_part and parts:
                sent.append(to.opaque(turn.number, parts.pop(0)))
            elif text:
                length = data.draw(st.integers(1, len(text)))
                sent.append(to.text(turn.number, text[:length]))
                text = text[length:]
        if turn is both[0]:
            # The next turn begins only when this one is over.
            sent += [*(to.opaque(turn.number, part) for part in parts), to.text(turn.number, text)]
    message = sdk(b"".join([*sent, to.end(reply)]))
    assert isinstance(message, anthropic.types.Message)
    assert "".join(block.text for block in message.content if block.type == "text") == both[0].text + both[1].text
    thoughts = [block.to_dict() for block in message.content if block.type == "thinking"]
    assert thoughts == [part.raw for turn in both for part in turn.opaque if part.raw["type"] == "thinking"]
    assert [(block.id, block.input) for block in message.content if block.type == "tool_use"] == [
        (call.id, json.loads(call.arguments)) for call in calls
    ]
