"""What a model said comes back to it as it was, and is the same answer whole and in pieces."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.providers.gemini import requests
from gateway.providers.gemini.answers import Pieces
from gateway.providers.interface import Answer, AssistantMessage, Opaque, Prompt, SuggestedCall
from gateway.providers.translation.names import Names

Parts = list[dict[str, Any]]
NAMES = ["svc.find", "3d.render", "web_search", "a__b", "a.b", "x" * 70]
WORDS = st.text(min_size=1, max_size=8)
SIGNATURES = st.text("abcXYZ019+/=", min_size=1, max_size=12)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
names = Names(NAMES)


@st.composite
def answers(draw: st.DrawFn) -> Parts:
    """The parts of an answer: text, of which pieces are signed, and calls, of which the first is."""
    parts: Parts = []
    for text in draw(st.lists(WORDS, max_size=4)):
        parts.append({"text": text} | ({"thoughtSignature": draw(SIGNATURES)} if draw(st.booleans()) else {}))
    for number, name in enumerate(draw(st.lists(st.sampled_from(NAMES), max_size=3))):
        args = draw(st.dictionaries(st.text(max_size=4), JSON, max_size=3))
        call = {"id": f"call_{number}", "name": names.alias(name), "args": args}
        signed = number == 0 or draw(st.booleans())
        parts.append({"functionCall": call} | ({"thoughtSignature": draw(SIGNATURES)} if signed else {}))
    return parts


def event(parts: Parts, finish: str | None = None) -> dict[str, Any]:
    """A response as it is once parsed, with arguments that stayed text."""
    raw: Parts = orjson.loads(orjson.dumps(parts))
    for part in raw:
        if "functionCall" in part:
            part["functionCall"]["args"] = orjson.dumps(part["functionCall"]["args"]).decode()
    return {"candidates": [{"content": {"parts": raw}, "finishReason": finish}]}


def whole(parts: Parts) -> Answer:
    pieces = Pieces()
    pieces.take(event(parts, "STOP"))
    return pieces.answer(names, single=False)


def merged(parts: Parts) -> Parts:
    """The parts with unsigned text that stands together as one."""
    joined: Parts = []
    for part in parts:
        if part.keys() == {"text"} and joined and joined[-1].keys() == {"text"}:
            joined[-1] = {"text": joined[-1]["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


def replayed(answer: Answer) -> Parts:
    message = AssistantMessage(answer.text, answer.calls, answer.opaque)
    contents = requests.body(Prompt("m", (message,)), names)["contents"]
    parts: Parts = contents[0]["parts"] if contents else []
    return parts


def unsigned_text_and_calls(parts: Parts) -> Parts:
    texts = "".join(part.get("text", "") for part in parts)
    return ([{"text": texts}] if texts else []) + [part for part in parts if "functionCall" in part]


@given(answers())
def test_text_and_signed_calls_come_back_as_they_were(parts: Parts) -> None:
    assert unsigned_text_and_calls(replayed(whole(parts))) == unsigned_text_and_calls(parts)


@given(answers())
def test_every_signature_comes_back_on_the_text_that_it_signed(parts: Parts) -> None:
    signed = [part for part in parts if "thoughtSignature" in part]
    assert [part for part in replayed(whole(parts)) if "thoughtSignature" in part] == signed


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sets(st.integers(0, 7)))
def test_pieces_of_text_that_can_be_told_apart_stand_where_they_did(texts: list[str], signed: set[int]) -> None:
    parts = [{"text": text, **({"thoughtSignature": "s"} if at in signed else {})} for at, text in enumerate(texts)]
    assert replayed(whole(parts)) == merged(parts)


@given(answers(), st.lists(st.integers(0, 8)))
def test_an_answer_in_pieces_is_the_whole_answer(parts: Parts, cuts: list[int]) -> None:
    heard: list[str] = []
    seen: list[Opaque] = []
    pieces = Pieces(heard.append, seen.append)
    ends = sorted({*(min(cut, len(parts)) for cut in cuts), len(parts)})
    for start, end in zip([0, *ends], ends, strict=False):
        pieces.take(event(parts[start:end]))
    pieces.take(event([{"text": ""}], "STOP"))
    answer = pieces.answer(names, single=False)
    assert answer == whole(parts)
    assert "".join(heard) == answer.text
    assert tuple(seen) == tuple(part for part in answer.opaque if "call" not in part.raw)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.dictionaries(st.text(max_size=4), JSON, max_size=3)), min_size=1))
def test_calls_of_any_model_are_told_under_names_that_lead_back(made: list[tuple[str, dict[str, Any]]]) -> None:
    calls = tuple(SuggestedCall(f"c{at}", name, orjson.dumps(args).decode()) for at, (name, args) in enumerate(made))
    shown = [part["functionCall"] for part in replayed(Answer("", calls))]
    assert [(names.real(call["name"]), call["args"]) for call in shown] == made
