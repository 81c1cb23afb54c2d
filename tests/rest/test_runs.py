"""Runs after they began: looked at, cancelled, traced."""

import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.database import rows
from tests.hostile.upstream import Upstream, completion, scripted
from tests.people import Cast
from tests.rest import sse
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

NOTE = '{"title": "Milk", "content": "Two litres"}'


def _cancel(stack: Stack, person: object, run: str) -> httpx.Response:
    return httpx.post(f"{stack.url}/api/v1/runs/{run}/cancel", headers=person.headers)  # type: ignore[attr-defined]


def test_a_run_is_cancelled_while_the_model_is_asked(upstream: Upstream, tenant: Cast) -> None:
    gate = threading.Event()
    script = upstream.script(completion("Hello."))
    script.replies[0].gate = gate
    url = f"{upstream.stack.url}/api/v1/chat"
    body = scripted(script, stream=True)
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
        events = sse.live(answer)
        created = next(events)
        assert isinstance(created, sse.Event)
        script.wait()
        cancelled = _cancel(upstream.stack, tenant.alice, created.data["run_id"])
        rest = [event for event in events if isinstance(event, sse.Event)]
    gate.set()
    assert cancelled.status_code == 200
    assert cancelled.json()["status"] == "cancelled"
    assert [event.name for event in rest] == ["run.cancelled"]
    assert rest[0].data == cancelled.json()
    # Its conversation is free again.
    again = upstream.stack.chat(tenant.alice, "hello", conversation_id=cancelled.json()["conversation_id"])
    assert again.status_code == 200


def test_a_waiting_json_client_is_answered_when_its_run_is_cancelled(upstream: Upstream, tenant: Cast) -> None:
    gate = threading.Event()
    script = upstream.script(completion("Hello."))
    script.replies[0].gate = gate
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(upstream.stack.chat, tenant.alice, **scripted(script))
        script.wait()
        [run] = rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)
        assert _cancel(upstream.stack, tenant.alice, str(run["id"])).json()["status"] == "cancelled"
        answer = asking.result(PATIENCE_SECONDS)
    gate.set()
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")


def test_calls_that_nobody_began_are_cancelled_with_their_run(tenant: Cast) -> None:
    # Its messages go where no other Toolgate's worker hears of them.
    with Stack(REDIS_URL=os.environ["REDIS_URL"].rpartition("/")[0] + "/5") as stack:
        stack.kill("worker")
        with ThreadPoolExecutor(1) as pool:
            url = f"{stack.url}/api/v1/chat"
            body = {"content": f"call: save_note {NOTE}\ncall: save_note {NOTE}", "stream": True}
            with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
                events = sse.live(answer)
                seen: list[sse.Event] = []
                while [event.name for event in seen].count("tool_call.proposed") < 2:
                    event = next(events)
                    if isinstance(event, sse.Event):
                        seen.append(event)
                run = seen[0].data["run_id"]
                cancelled = pool.submit(_cancel, stack, tenant.alice, run)
                rest = [event for event in events if isinstance(event, sse.Event)]
        body = cancelled.result().json()
        stack.start("worker")
        stack.wait_ready()
    assert (body["status"], rest[-1].name) == ("cancelled", "run.cancelled")
    assert [call["error"]["code"] for call in body["tool_calls"]] == ["cancelled", "cancelled"]
    assert [event.name for event in rest if event.name == "tool_call.settled"] == ["tool_call.settled"] * 2
    assert rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id) == []
    kinds = rows("SELECT kind FROM ledger_entries WHERE tenant_id = %(t)s ORDER BY seq", t=tenant.id)
    assert [entry["kind"] for entry in kinds] == ["proposed", "proposed", "settled", "settled"]


def test_a_run_that_is_over_stays_as_it_is(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, f"call: save_note {NOTE}").json()
    for _ in range(2):
        answer = _cancel(stack, tenant.alice, body["run_id"])
        assert (answer.status_code, answer.json()) == (200, body)


def test_a_run_may_be_looked_at_while_it_runs(upstream: Upstream, tenant: Cast) -> None:
    gate = threading.Event()
    script = upstream.script(completion("Saving.", ("c", "save_note", NOTE)), completion("Saved."))
    script.replies[1].gate = gate
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(upstream.stack.chat, tenant.alice, **scripted(script))
        script.wait()
        [run] = rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)
        events = upstream.stack.url + f"/api/v1/runs/{run['id']}/events"
        with httpx.stream("GET", events, headers=tenant.alice.headers) as answer:
            for event in sse.live(answer):
                if isinstance(event, sse.Event) and event.name == "tool_call.settled":
                    break
        seen = upstream.stack.get(tenant.alice, f"/api/v1/runs/{run['id']}").json()
        gate.set()
        asking.result(PATIENCE_SECONDS)
    assert seen["status"] == "in_progress"
    assert [call["status"] for call in seen["tool_calls"]] == ["success"]
    assert seen["usage"]["turns"] == 1


def test_the_trace_tells_each_turn_with_its_calls(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(
        completion("Saving.", ("a", "save_note", NOTE), ("b", "save_note", "{broken")), completion("Saved.")
    )
    run = upstream.stack.chat(tenant.alice, **scripted(script)).json()
    trace = upstream.stack.get(tenant.alice, f"/api/v1/runs/{run['run_id']}/trace").json()
    assert {name: trace[name] for name in ("run_id", "status", "usage", "error")} == {
        name: run[name] for name in ("run_id", "status", "usage", "error")
    }
    first, second = trace["tool_trace"]
    assert (first["turn"], first["text"], first["finish_reason"]) == (1, "Saving.", "tool_calls")
    assert first["usage"] == {"input_tokens": 7, "output_tokens": 3}
    assert (second["turn"], second["text"], second["tool_calls"]) == (2, "Saved.", [])
    saved, broken = first["tool_calls"]
    assert saved["arguments"] == {"title": "Milk", "content": "Two litres"}
    assert saved["result"] == {"ok": True, "data": saved["output"]}
    assert saved["latency_ms"] == saved["execution_time_ms"]
    assert [gate["gate"] for gate in saved["decision"]] == [
        "allowlist", "schema", "permission", "policy", "rate_limit", "approval"
    ]  # fmt: skip
    assert broken["arguments"] == "{broken"
    assert broken["result"]["error"]["code"] == "validation_error"
    assert [gate["ok"] for gate in broken["decision"]] == [True, False]


def test_runs_that_are_not_there_are_404_problems(stack: Stack, tenant: Cast) -> None:
    nowhere = uuid.uuid4()
    for path in ("", "/events", "/trace"):
        answer = stack.get(tenant.alice, f"/api/v1/runs/{nowhere}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert answer.headers["content-type"] == "application/problem+json"
    assert _cancel(stack, tenant.alice, str(nowhere)).status_code == 404
