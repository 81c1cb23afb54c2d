"""The benchmark's clients ask a running Toolgate, each in its way, so that none breaks unnoticed."""

from typing import TYPE_CHECKING

from bench.reporting import report
from bench.rig import sdk
from bench.rig.measure import median
from bench.scenarios import V1_CHAT, V1_STREAM, request_text
from tests.people import Cast

if TYPE_CHECKING:
    from tests.stack import Stack

MODEL = "offline/demo"


def _plan(stack: "Stack", tenant: Cast) -> sdk.Plan:
    asked = {"chat": V1_CHAT, "streamed": V1_STREAM}
    kinds = {
        name: sdk.Kind(
            MODEL,
            request_text(stack.port, each.path, each.body | {"model": MODEL}, tenant.alice.key),
            '"content":"' if each.first else "",
        )
        for name, each in asked.items()
    }
    return sdk.Plan(stack.port, tenant.alice.key, kinds, times=1)


def test_every_way_of_asking_gets_an_answer_on_a_kept_and_on_a_new_connection(stack: "Stack", tenant: Cast) -> None:
    found = sdk.ways(_plan(stack, tenant))
    assert set(found) == {
        "openai SDK",
        "openai SDK, async",
        "anthropic SDK",
        "one segment",
        "head and body apart",
    }
    for name, figures in found.items():
        assert set(figures) == {"kept", "new"}, name
        assert all(milliseconds > 0 for milliseconds in figures.values()), name


def test_every_kind_of_request_is_asked_through_the_sdk_and_through_a_socket(stack: "Stack", tenant: Cast) -> None:
    found = sdk.kinds(_plan(stack, tenant))
    assert set(found) == {"chat", "streamed"}
    for figures in found.values():
        assert figures["sdk"] > 0 and figures["raw"] > 0


def test_the_rate_of_several_rounds_is_shown_with_how_far_they_lie_apart() -> None:
    assert report._rate(median([{"per_second": 90.0}, {"per_second": 100.0}, {"per_second": 110.0}])) == "100 (±10 %)"
    assert report._rate(median([{"per_second": 90.0}])) == "90"
