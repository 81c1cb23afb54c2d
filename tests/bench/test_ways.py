"""The benchmark's clients ask a running Toolgate, each in its way, so that none breaks unnoticed."""

from typing import TYPE_CHECKING

from bench import report, sdk
from bench.measure import median
from bench.scenarios import request_text
from tests.people import Cast

if TYPE_CHECKING:
    from tests.stack import Stack

MODEL = "offline/demo"


def test_every_way_of_asking_gets_an_answer_on_a_kept_and_on_a_new_connection(stack: "Stack", tenant: Cast) -> None:
    body = {"content": "What is on my list?", "model": MODEL}
    request = request_text(stack.port, "/api/v1/chat", body, tenant.alice.key)
    found = sdk.run(sdk.Plan(stack.port, tenant.alice.key, MODEL, request, times=1))
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


def test_the_rate_of_several_rounds_is_shown_with_how_far_they_lie_apart() -> None:
    assert report._rate(median([{"per_second": 90.0}, {"per_second": 100.0}, {"per_second": 110.0}])) == "100 (±10 %)"
    assert report._rate(median([{"per_second": 90.0}])) == "90"
