"""A provider that fails, cuts, stalls or lies costs its run and nothing else."""

import json
import threading
import uuid
from typing import Any

import httpx
import pytest

from tests.database import rows
from tests.hostile.upstream import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    Reply,
    Script,
    Upstream,
    call_delta,
    completion,
    failing,
    scripted,
    streamed,
)
from tests.people import Cast
from tests.rest import sse

NOTE = json.dumps({"title": "a", "content": "b"})
FAULTS = {
    "500": failing(500, Retry_After="0"),
    "503": failing(503, Retry_After="0"),
    "400": failing(400),
    "401": failing(401),
    "404": failing(404),
    "a redirect": Reply([b""], 307, {"Location": "http://127.0.0.1:1/"}),
    "a web page": Reply([b"<html>bad gateway</html>"], 200, kind="text/html"),
    "no JSON": Reply([b"\xff\xfe{{{{"]),
    "an empty body": Reply([b" "]),
    "JSON of another kind": Reply([b"[1, 2]"]),
    "no choices": Reply([b'{"choices": []}']),
    "null choices": Reply([b'{"choices": null}']),
    "a choice that is a string": Reply([b'{"choices": ["x"]}']),
    "a cut body": Reply([b'{"choices": [{"message"'], cut=True),
    "an error inside a 200": Reply([b'{"error": {"message": "overloaded", "type": "server_error"}}']),
}
STREAM_FAULTS = {
    "a stream cut in the middle": streamed({"content": "Hel"}, {"content": "lo"}, finish=None, cut=True),
    "a stream without a finish reason": streamed({"content": "Hello"}, finish=None),
    "a stream of garbage": Reply([b"data: {{{\n\n"], kind="text/event-stream"),
    "an empty stream": Reply([b": nothing\n\n"], kind="text/event-stream"),
    "an error event": Reply([b'data: {"error": {"message": "overloaded"}}\n\n'], kind="text/event-stream"),
    "a call cut in its arguments": streamed(call_delta(0, "c", "save_note", NOTE[:9]), finish=None, cut=True),
    "500": failing(500, Retry_After="0"),
}


def _is_provider_error(answer: httpx.Response, status: int = 502) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert (body["status"], body["code"]) == (status, "provider_error")
    uuid.UUID(body["run_id"])
    _holds_no_secret(answer.text)
    return body


def _holds_no_secret(text: str) -> None:
    for secret in (OPENAI_KEY, ANTHROPIC_KEY, "10.1.2.3", "127.0.0.1"):
        assert secret not in text


@pytest.mark.parametrize("reply", FAULTS.values(), ids=FAULTS)
def test_a_provider_that_fails_is_a_502(upstream: Upstream, tenant: Cast, reply: Reply) -> None:
    answer = upstream.stack.chat(tenant.alice, **scripted(upstream.script(reply)))
    body = _is_provider_error(answer)
    run = upstream.stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}").json()
    assert (run["status"], run["error"]["code"]) == ("failed", "provider_error")
    _holds_no_secret(json.dumps(run))


def test_a_providers_429_is_a_429_that_says_when(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(failing(429, Retry_After="0"))
    answer = upstream.stack.chat(tenant.alice, **scripted(script))
    _is_provider_error(answer, 429)
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.headers["RateLimit-Policy"]
    assert answer.headers["RateLimit"]
    assert len(script.asked) == 3


def test_a_429_that_asks_for_too_long_a_wait_is_answered_at_once(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(failing(429, Retry_After="3600"))
    _is_provider_error(upstream.stack.chat(tenant.alice, **scripted(script)), 429)
    assert len(script.asked) == 1


def test_a_failure_is_asked_again_and_leaves_no_trace_in_the_answer(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(failing(500, Retry_After="0"), completion("Hello."))
    body = upstream.stack.chat(tenant.alice, **scripted(script)).json()
    assert (body["status"], body["content"], body["error"]) == ("completed", "Hello.", None)
    assert body["usage"] == {"input_tokens": 7, "output_tokens": 3, "turns": 1}


@pytest.mark.parametrize("reply", STREAM_FAULTS.values(), ids=STREAM_FAULTS)
def test_a_stream_that_fails_ends_in_run_failed(upstream: Upstream, tenant: Cast, reply: Reply) -> None:
    answer = upstream.stack.chat(tenant.alice, **scripted(upstream.script(reply), stream=True))
    assert answer.status_code == 200
    events = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
    assert (events[0], events[-1]) == ("run.created", "run.failed")
    last = json.loads([line for line in answer.text.splitlines() if line.startswith("data: ")][-1][6:])
    assert (last["status"], last["error"]["code"]) == ("failed", "provider_error")
    assert last["content"] == ""
    _holds_no_secret(answer.text)
    assert rows("SELECT id FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []


def test_text_of_a_cut_stream_is_voided_before_it_is_asked_again(upstream: Upstream, tenant: Cast) -> None:
    cut = threading.Event()
    script = upstream.script(
        streamed({"content": "Hel"}, {"content": ""}, finish=None, cut=True, between=cut),
        streamed({"content": "Goodbye."}),
    )
    body, url = scripted(script, stream=True), f"{upstream.stack.url}/api/v1/chat"
    with httpx.stream("POST", url, json=body, headers=tenant.alice.headers) as answer:
        events = (event for event in sse.live(answer) if isinstance(event, sse.Event))
        assert [next(events).name, next(events).data["text"]] == ["run.created", "Hel"]
        cut.set()
        rest = list(events)
    assert [event.name for event in rest] == ["message.restarted", "message.delta", "run.completed"]
    assert rest[-1].data["content"] == "Goodbye."


def test_a_stream_that_falls_silent_is_asked_again(upstream: Upstream, tenant: Cast) -> None:
    never = threading.Event()
    script = upstream.script(
        streamed({"content": "Hel"}, {"content": "lo."}, between=never), streamed({"content": "Goodbye."})
    )
    # Long enough for the second answer on a busy machine.
    url = upstream.stack.start_web("impatient web", PROVIDER_IDLE_SECONDS="5")
    try:
        answer = httpx.post(f"{url}/api/v1/chat", json=scripted(script, stream=True), headers=tenant.alice.headers)
    finally:
        upstream.stack.kill("impatient web")
        never.set()
    events = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
    assert events == ["run.created", "message.delta", "message.restarted", "message.delta", "run.completed"]
    assert json.loads(answer.text.strip().splitlines()[-1][6:])["content"] == "Goodbye."
    assert len(script.asked) == 2


def test_a_failure_after_a_call_keeps_the_call(upstream: Upstream, tenant: Cast) -> None:
    script: Script = upstream.script(completion("", ("c1", "save_note", NOTE)), failing(400))
    body = _is_provider_error(upstream.stack.chat(tenant.alice, **scripted(script)))
    run = upstream.stack.get(tenant.alice, f"/api/v1/runs/{body['run_id']}").json()
    assert [call["status"] for call in run["tool_calls"]] == ["success"]
    assert len(rows("SELECT id FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id)) == 1


def test_a_failed_run_leaves_its_conversation_open_for_the_next(upstream: Upstream, tenant: Cast) -> None:
    failed = _is_provider_error(upstream.stack.chat(tenant.alice, **scripted(upstream.script(failing(400)))))
    run = upstream.stack.get(tenant.alice, f"/api/v1/runs/{failed['run_id']}").json()
    script = upstream.script(completion("Hello."))
    body = upstream.stack.chat(tenant.alice, **scripted(script, conversation_id=run["conversation_id"])).json()
    assert body["content"] == "Hello."


def test_a_run_whose_model_only_ran_out_of_tokens_is_incomplete(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(streamed({"content": "Once upon"}, finish="length"))
    body = upstream.stack.chat(tenant.alice, **scripted(script, stream=True)).text
    last = json.loads(body.strip().splitlines()[-1][6:])
    assert (last["status"], last["incomplete_reason"], last["content"]) == ("incomplete", "tokens", "Once upon")


@pytest.mark.parametrize(("text", "kept"), [("a\x00b", "a\ufffdb"), ("a\ud800b", "a\\ud800b")])
def test_text_that_postgresql_cannot_keep_is_kept_as_far_as_it_can(
    upstream: Upstream, tenant: Cast, text: str, kept: str
) -> None:
    answer = upstream.stack.chat(tenant.alice, **scripted(upstream.script(completion(text))))
    assert answer.status_code == 200, answer.text
    assert answer.json()["content"] == kept
