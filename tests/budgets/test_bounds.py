"""The bound of a prompt's tokens is never below what any vocabulary can make of it."""

from gateway.budgets import bounds
from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Image,
    Opaque,
    Options,
    Prompt,
    SuggestedCall,
    Text,
    ToolMessage,
    UserMessage,
)
from tools.interface import Tier, ToolSpec


def _bound(*messages: object, **more: object) -> int:
    return bounds.input_tokens(Prompt("m", messages, **more))  # type: ignore[arg-type]


EMPTY = _bound()


def test_a_text_counts_at_least_as_many_tokens_as_bytes() -> None:
    for text in ("a" * 1000, "漢" * 1000, "😀" * 1000, "\ud800" * 10):
        assert _bound(UserMessage(text)) - EMPTY >= len(text.encode("utf-8", "surrogatepass"))


def test_calls_results_and_instructions_count() -> None:
    call = AssistantMessage("", (SuggestedCall("1", "tool", "x" * 500),))
    assert _bound(call) - EMPTY >= 500
    assert _bound(ToolMessage("1", "tool", "y" * 700)) - EMPTY >= 700
    assert _bound(system="z" * 900) - EMPTY >= 900


def test_what_a_message_says_in_parts_counts_once() -> None:
    text = "w" * 1000
    assert 1000 <= _bound(UserMessage(text, (Text(text),))) - EMPTY < 1500


def test_an_image_counts_as_the_largest_one_and_not_as_its_bytes() -> None:
    image = Image("image/png", "A" * 4_000_000)
    assert 50_000 <= _bound(UserMessage("", (image,))) - EMPTY < 51_000


def test_thoughts_count_as_their_bytes_and_other_opaque_parts_as_media() -> None:
    thought = AssistantMessage("", (), (Opaque("anthropic", {"type": "thinking", "thinking": "t" * 2000}),))
    assert 2000 <= _bound(thought) - EMPTY < 3000
    document = UserMessage("", (Opaque("anthropic", {"type": "document"}),))
    assert _bound(document) - EMPTY >= 50_000


def test_an_answer_may_be_as_long_as_was_asked_for_and_never_needs_more_than_that() -> None:
    assert bounds.output_tokens(Prompt("m", ())) == (bounds.USUAL_OUTPUT, bounds.LEAST_OUTPUT)
    assert bounds.output_tokens(Prompt("m", (), options=Options(max_output_tokens=10))) == (10, 10)
    assert bounds.output_tokens(Prompt("m", (), options=Options(max_output_tokens=9000))) == (9000, 256)


def test_tools_count_at_least_their_bytes_and_an_offers_are_counted_once() -> None:
    spec = ToolSpec("list_tasks", "d" * 700, {"type": "object", "title": "t" * 300}, Tier.READ_ONLY)
    offered, client = (spec, spec), ClientTool("open_door", "o" * 400, {"type": "object"})
    assert _bound(tools=offered) - EMPTY >= 2000
    assert _bound(tools=offered, client_tools=(client,)) - _bound(tools=offered) >= 400
    counted = _bound(tools=offered)
    # What was counted is not looked at again for the same offer.
    spec.parameters["title"] = "t" * 900
    assert _bound(tools=offered) == counted
    assert _bound(tools=(spec, spec)) == counted + 1200
