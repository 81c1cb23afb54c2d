"""The same chat as server-sent events, live and replayed."""

import json
import threading

import httpx
import pytest

from gateway.rest.chat.answers import KEEP_ALIVE_SECONDS
from tests.hostile.upstream import ORIGIN, Upstream, completion, scripted, streamed
from tests.people import Cast
from tests.rest import sse
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

PATHS: dict[str, dict[str, str]] = {"fast": {}, "django": {"Origin": ORIGIN}}
NOTE = '{"title": "Milk", "content": "Two litres"}'
CALL = {"id", "tool", "input", "status", "output", "display", "error", "execution_time_ms", "turn", "approval_id"}


def _call(name: str, arguments: str) -> dict[str, object]:
    return {"tool_calls": [{"index": 0, "id": "c", "function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_run_with_a_tool_streams_the_contracts_events_in_order(
    upstream: Upstream, tenant: Cast, path: dict[str, str]
) -> None:
    script = upstream.script(
        streamed({"content": "Sav"}, {"content": "ing."}, _call("save_note", NOTE), finish="tool_calls"),
        streamed({"content": "Sa"}, {"content": "ved."}),
    )
    answer = upstream.stack.chat(tenant.alice, **scripted(script, stream=True), headers=path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["x-request-id"]
    found = sse.parse(answer.text)
    names = [event.name for event in found if event.name != "message.delta"]
    assert names == [
        "run.created", "tool_call.proposed", "tool_call.running", "tool_call.settled", "run.completed"
    ]  # fmt: skip
    created, final = found[0].data, found[-1].data
    assert all(event.data["run_id"] == created["run_id"] for event in found)
    assert len({event.id for event in found}) == len(found)
    for turn, text in ((1, "Saving."), (2, "Saved.")):
        deltas = [event.data for event in found if event.name == "message.delta" and event.data["turn"] == turn]
        assert "".join(delta["text"] for delta in deltas) == text
        assert all(set(delta) == {"run_id", "text", "turn"} for delta in deltas)
    calls = [event.data for event in found if event.name.startswith("tool_call.")]
    assert [call["status"] for call in calls] == ["proposed", "running", "success"]
    assert all(set(call) == CALL | {"run_id"} for call in calls)
    assert {call["id"] for call in calls} == {final["tool_calls"][0]["id"]}
    assert calls[-1] == final["tool_calls"][0] | {"run_id": final["run_id"]}
    assert calls[0]["output"] is None
    assert upstream.stack.get(tenant.alice, f"/api/v1/runs/{final['run_id']}").json() == final


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_an_accept_header_asks_for_a_stream_too(stack: Stack, tenant: Cast, path: dict[str, str]) -> None:
    answer = stack.chat(tenant.alice, "hello", headers=path | {"Accept": "text/event-stream"})
    assert answer.status_code == 200
    assert [sse.parse(answer.text)[index].name for index in (0, -1)] == ["run.created", "run.completed"]


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_text_reaches_the_client_while_the_provider_still_speaks(
    upstream: Upstream, tenant: Cast, path: dict[str, str]
) -> None:
    more = threading.Event()
    script = upstream.script(streamed({"content": "Hel"}, {"content": "lo."}, between=more))
    url = f"{upstream.stack.url}/api/v1/chat"
    headers = tenant.alice.headers | path
    with httpx.stream("POST", url, json=scripted(script, stream=True), headers=headers) as answer:
        events = sse.live(answer)
        assert [_named(next(events)).name for _ in range(2)] == ["run.created", "message.delta"]
        more.set()
        assert [_named(event).name for event in events][-1] == "run.completed"


def _named(event: sse.Event | str) -> sse.Event:
    assert isinstance(event, sse.Event)
    return event


def test_a_silent_run_sends_a_keep_alive_at_least_every_ten_seconds(upstream: Upstream, tenant: Cast) -> None:
    gate = threading.Event()
    script = upstream.script(completion("Hello."))
    script.replies[0].gate = gate
    url = f"{upstream.stack.url}/api/v1/chat"
    body = scripted(script, stream=True)
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
        events = sse.live(answer)
        assert _named(next(events)).name == "run.created"
        assert next(events) == ": keep-alive"
        assert KEEP_ALIVE_SECONDS <= 10
        gate.set()
        assert _named(list(events)[-1]).name == "run.completed"


def test_replay_from_every_id_gives_exactly_the_rest(stack: Stack, tenant: Cast) -> None:
    script = f"call: save_note {NOTE}\ncall: nothing {{}}\ncall: list_tasks {{}}\nthen:\ncall: save_note {{}}"
    answer = stack.chat(tenant.alice, script, stream=True)
    run = sse.parse(answer.text)[-1].data["run_id"]
    whole = sse.parse(stack.get(tenant.alice, f"/api/v1/runs/{run}/events").text)
    assert [event.name for event in whole if event.name != "message.delta"] == [
        "run.created", "tool_call.proposed", "tool_call.proposed", "tool_call.proposed", "tool_call.running",
        "tool_call.settled", "tool_call.settled", "tool_call.running", "tool_call.settled", "tool_call.proposed",
        "tool_call.settled", "run.completed",
    ]  # fmt: skip
    for index, event in enumerate(whole):
        rest = stack.get(tenant.alice, f"/api/v1/runs/{run}/events", headers={"Last-Event-ID": event.id})
        assert sse.parse(rest.text) == whole[index + 1 :]


def test_replay_from_an_id_of_the_live_stream_gives_the_rest_of_the_text(stack: Stack, tenant: Cast) -> None:
    live = sse.parse(stack.chat(tenant.alice, f"call: save_note {NOTE}", stream=True).text)
    run = live[-1].data["run_id"]
    for index, event in enumerate(live):
        rest = stack.get(tenant.alice, f"/api/v1/runs/{run}/events", headers={"Last-Event-ID": event.id})
        got = sse.parse(rest.text)
        assert _folded(got) == _folded(live[index + 1 :])


def _folded(events: list[sse.Event]) -> list[tuple[str, str]]:
    """The events with each run of deltas as one."""
    folded: list[tuple[str, str]] = []
    for event in events:
        if event.name == "message.delta":
            before = folded.pop()[1] if folded and folded[-1][0] == event.name else ""
            folded.append((event.name, before + event.data["text"]))
        else:
            folded.append((event.name, json.dumps(event.data, sort_keys=True)))
    return folded


def test_a_client_that_was_cut_off_takes_the_stream_up_again_while_it_runs(upstream: Upstream, tenant: Cast) -> None:
    more = threading.Event()
    script = upstream.script(streamed({"content": "Hel"}, {"content": "lo."}, between=more))
    url = f"{upstream.stack.url}/api/v1/chat"
    body = scripted(script, stream=True)
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
        events = sse.live(answer)
        seen = [_named(next(events)) for _ in range(2)]
    run, last = seen[0].data["run_id"], seen[-1].id
    headers = tenant.alice.headers | {"Last-Event-ID": last}
    with httpx.stream("GET", f"{upstream.stack.url}/api/v1/runs/{run}/events", headers=headers) as again:
        more.set()
        rest = [_named(event) for event in sse.live(again)]
    assert "".join(e.data["text"] for e in [*seen, *rest] if e.name == "message.delta") == "Hello."
    assert rest[-1].name == "run.completed"
    assert rest[-1].data["content"] == "Hello."


def test_a_client_that_goes_away_does_not_stop_its_run(upstream: Upstream, tenant: Cast) -> None:
    gate = threading.Event()
    script = upstream.script(completion("Hello."))
    script.replies[0].gate = gate
    url = f"{upstream.stack.url}/api/v1/chat"
    body = scripted(script, stream=True)
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
        run = _named(next(sse.live(answer))).data["run_id"]
    gate.set()
    events = sse.parse(upstream.stack.get(tenant.alice, f"/api/v1/runs/{run}/events").text)
    assert (events[-1].name, events[-1].data["content"]) == ("run.completed", "Hello.")


def test_many_watchers_of_one_run_see_the_same(upstream: Upstream, tenant: Cast) -> None:
    more = threading.Event()
    script = upstream.script(streamed({"content": "Hel"}, {"content": "lo."}, between=more))
    url = f"{upstream.stack.url}/api/v1/chat"
    texts: list[str] = []
    body = scripted(script, stream=True)
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
        first = _named(next(sse.live(answer)))
        path = f"/api/v1/runs/{first.data['run_id']}/events"
        watching = [
            threading.Thread(target=lambda: texts.append(upstream.stack.get(tenant.alice, path).text)) for _ in range(5)
        ]
        for thread in watching:
            thread.start()
        more.set()
        for thread in watching:
            thread.join(PATIENCE_SECONDS)
    assert len(texts) == 5
    finals = {json.dumps(sse.parse(text)[-1].data, sort_keys=True) for text in texts}
    assert len(finals) == 1


def test_a_refusal_before_the_run_is_a_problem_and_no_stream(stack: Stack, tenant: Cast) -> None:
    for path in PATHS.values():
        answer = stack.chat(tenant.alice, "", stream=True, headers=path)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        answer = stack.chat(tenant.alice, "", headers=path | {"Accept": "text/event-stream"})
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "invalid_request"
