"""The benchmark's clients ask a running Toolgate, each in its way, so that none breaks unnoticed."""

import os
import time
from typing import TYPE_CHECKING

from bench import anatomy as anatomies
from bench.reporting import report
from bench.rig import anatomy, machine, sdk
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


def test_a_chat_is_taken_apart_into_its_client_and_the_processes(stack: "Stack", tenant: Cast) -> None:
    chats = {"chat": anatomy.Asked(stack.port, MODEL, "hello")}
    running = {name: [process.pid] for name, process in stack.processes.items()}
    processes = {name: running.get(name, []) for name in anatomies.PROCESSES}
    found = anatomy.anatomy(anatomy.Plan(tenant.alice.key, chats, processes, times=2))["chat"]
    assert set(found) == {"p50", "mean", "client", *anatomies.PROCESSES}
    assert found["p50"] > 0 and found["client"] > 0 and found["web"] > 0
    [head, row] = anatomies.lines({"chat": found})[1:]
    assert head.split()[-1] == "waiting" and row.split()[0] == "chat"


def test_what_a_process_has_run_grows_with_its_work() -> None:
    before, began = machine.running_seconds(os.getpid()), time.process_time()
    while time.process_time() - began < 0.05:
        sum(range(1000))
    assert machine.running_seconds(os.getpid()) - before >= 0.05


def test_the_rate_of_several_rounds_is_shown_with_how_far_they_lie_apart() -> None:
    assert report._rate(median([{"per_second": 90.0}, {"per_second": 100.0}, {"per_second": 110.0}])) == "100 (±10 %)"
    assert report._rate(median([{"per_second": 90.0}])) == "90"
