"""There and back: what the adapter tells a server of the API is what our own surface reads, and the other way round."""

from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.compat.chat_completions.api import API
from gateway.compat.interface import Reply, TurnReply
from gateway.providers.interface import (
    Answer,
    AssistantMessage,
    ClientTool,
    Image,
    Opaque,
    Options,
    Part,
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
from gateway.providers.openai import answers as openai_answers
from gateway.providers.openai import requests
from gateway.providers.translation import managed
from gateway.providers.translation.names import Names
from gateway.runs.prompting.client_request import ClientRequest

FAMILY = requests.FAMILY
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
SOME_TEXT = TEXT.filter(bool)
NAME = st.text(st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"], include_characters="_-"), min_size=1)
JSON = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAME, inner, max_size=2),
    max_leaves=4,
)
EXTRA = st.dictionaries(NAME.map(lambda name: f"x_{name}"), JSON, max_size=2)


def opaque(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Opaque]:
    return st.fixed_dictionaries(fields).map(lambda raw: Opaque(FAMILY, raw))


texts = st.builds(Text, TEXT, st.just(FAMILY), EXTRA)
details = st.one_of(st.just({}), st.sampled_from(["low", "high"]).map(lambda detail: {"detail": detail}))
images = st.builds(
    lambda source, extra, detail: Image(**source, family=FAMILY, extra=extra | detail),
    st.one_of(
        st.fixed_dictionaries(
            {"media_type": st.sampled_from(["image/png", "image/jpeg"]), "data": st.just("iVBORw==")}
        ),
        st.fixed_dictionaries({"url": st.sampled_from(["https://example.com/a.png", "http://example.com/b"])}),
    ),
    EXTRA,
    details,
)
others = opaque(
    type=st.just("input_audio"),
    input_audio=st.fixed_dictionaries({"data": st.just("UklGRg=="), "format": st.just("wav")}),
) | opaque(type=st.just("file"), file=st.fixed_dictionaries({"file_id": NAME}))


def said(parts: tuple[Part, ...]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def worded(kind: Callable[..., PromptMessage], parts: st.SearchStrategy[Any]) -> st.SearchStrategy[PromptMessage]:
    """Messages of a text, or of parts."""
    whole = st.lists(parts, min_size=1, max_size=3).map(lambda each: (said(tuple(each)), tuple(each)))
    bare = TEXT.map(lambda text: (text, ()))
    return st.builds(
        lambda content, extra: kind(content[0], parts=content[1], family=FAMILY, extra=extra), whole | bare, EXTRA
    )


thoughts = opaque(type=st.just("reasoning_content"), reasoning_content=SOME_TEXT)
calls = st.builds(
    SuggestedCall,
    st.text("abc123_-", min_size=1, max_size=40),
    NAME.map(lambda n: f"t{n}"[:64]),
    TEXT,
    st.just(FAMILY),
    EXTRA,
)


@st.composite
def rounds(draw: st.DrawFn) -> list[PromptMessage]:
    """An answer with the results of its calls."""
    made = tuple(draw(st.lists(calls, max_size=3)))
    before = tuple(draw(st.lists(thoughts, max_size=1)))
    results = [
        ToolMessage(call.id, call.name, text, family=FAMILY, extra=draw(EXTRA))
        for call, text in zip(made, draw(st.lists(TEXT, min_size=len(made), max_size=len(made))), strict=True)
    ]
    return [AssistantMessage(draw(TEXT), made, before, family=FAMILY, extra=draw(EXTRA)), *results]


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[PromptMessage, ...]:
    one = st.one_of(
        worded(UserMessage, texts | images | others).map(lambda each: [each]),
        worded(SystemMessage, texts).map(lambda each: [each]),
        worded(lambda text, **more: SystemMessage(text, "developer", **more), texts).map(lambda each: [each]),
        rounds(),
    )
    messages = [message for each in draw(st.lists(one, min_size=1, max_size=5)) for message in each]
    ids = [call.id for each in messages if isinstance(each, AssistantMessage) for call in each.calls]
    if len(set(ids)) < len(ids):
        return (UserMessage("hi", family=FAMILY),)
    return tuple(messages)


@st.composite
def client_tools(draw: st.DrawFn) -> tuple[ClientTool, ...]:
    names = draw(st.lists(NAME.map(lambda name: f"t{name}"[:64]), unique=True, max_size=3))
    tools = []
    for name in names:
        inner = {"name": name, "description": draw(TEXT), "parameters": draw(st.dictionaries(NAME, JSON, max_size=2))}
        raw = {"type": "function", "function": inner, **draw(EXTRA)}
        tools.append(ClientTool(name, inner["description"], inner["parameters"], None, FAMILY, raw))
    return tuple(tools)


formats = st.one_of(
    st.none(),
    st.just(ResponseFormat("json_object")),
    st.builds(
        ResponseFormat, st.just("json_schema"), NAME, TEXT, st.dictionaries(NAME, JSON, max_size=2), st.booleans()
    ),
)
options = st.builds(
    Options,
    max_output_tokens=st.none() | st.integers(1, 2**31 - 1),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    stop=st.lists(TEXT, max_size=3).map(tuple),
    tool_choice=st.none() | st.builds(ToolChoice, st.sampled_from(["none", "auto", "required"])),
    parallel_tool_calls=st.none() | st.booleans(),
    response_format=formats,
    family=st.just(FAMILY),
    extra=EXTRA,
)


@settings(max_examples=300, deadline=None)
@given(transcripts(), client_tools(), options, st.booleans())
def test_a_prompt_reads_the_same_after_the_wire(
    messages: tuple[PromptMessage, ...], tools: tuple[ClientTool, ...], options: Options, streaming: bool
) -> None:
    if not tools:
        options = Options(family=FAMILY, extra=options.extra)
    prompt = Prompt("gpt", messages, client_tools=tools, options=options)
    sent = requests.body(prompt, managed.names(prompt), limit="max_tokens", streaming=streaming)
    assert API.parse(orjson.loads(orjson.dumps(sent))) == ClientRequest(
        "gpt", messages, tools, options, stream=streaming, include_usage=streaming
    )


usages = st.builds(Usage, *[st.integers(0, 2**40)] * 4)
logprobs = st.fixed_dictionaries({"content": st.lists(JSON, min_size=1, max_size=2)})
answered_extra = st.fixed_dictionaries(
    {}, optional={"system_fingerprint": SOME_TEXT, "service_tier": SOME_TEXT, "logprobs": logprobs}
)


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    made = tuple(draw(st.lists(calls.filter(lambda call: bool(call.extra)), max_size=2)))
    if len({call.id for call in made}) < len(made):
        made = ()
    reason = draw(st.sampled_from(["tool_calls" if made else "stop", "length", "content_filter"]))
    thought = tuple(draw(st.lists(thoughts, max_size=1)))
    return Answer(draw(TEXT), made, reason, draw(usages), opaque=thought, extra=draw(answered_extra))


@settings(max_examples=300, deadline=None)
@given(answers(), st.integers(1, 5), st.booleans())
def test_an_answer_reads_the_same_after_the_wire(answer: Answer, size: int, include_usage: bool) -> None:
    names = Names(())
    turn = TurnReply(1, answer.text, answer.opaque)
    reply = Reply(
        *("0" * 32, 1, "gpt", (turn,), answer.calls, answer.finish_reason, answer.usage, {"status": "completed"}),
        family=FAMILY,
        extra=answer.extra,
    )
    whole = orjson.loads(orjson.dumps(API.body(reply)))
    assert openai_answers.read(whole, names) == answer

    asked = {"model": "gpt", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    usage = {"stream_options": {"include_usage": True}} if include_usage else {}
    to = API.writer(id="0" * 32, created=1, model="gpt", request=API.parse(asked | usage))
    written = to.begin() + b"".join(to.opaque(1, part) for part in answer.opaque)
    written += b"".join(to.text(1, answer.text[at : at + size]) for at in range(0, len(answer.text), size))
    written += to.end(reply)
    pieces = openai_answers.Pieces(lambda text: None)
    events = written.split(b"\n\n")
    assert events[-2:] == [b"data: [DONE]", b""]
    for event in events[:-2]:
        pieces.take(orjson.loads(event.removeprefix(b"data: ")))
    counted = answer.usage if include_usage else Usage()
    expected = Answer(answer.text, answer.calls, answer.finish_reason, counted, None, answer.opaque, answer.extra)
    assert pieces.answer(names) == expected
