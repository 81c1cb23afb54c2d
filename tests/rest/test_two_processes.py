"""A run that one process drives, watched over another: the text comes as the model says it."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.hostile.upstream import Script, Steps, Upstream, completion, scripted, streamed
from tests.people import Cast, Person
from tests.rest import sse

WORDS = ["One ", "two ", "three ", "four ", "five ", "six."]


@contextmanager
def _begun(
    upstream: Upstream, person: Person, script: Script, url: str = ""
) -> Iterator[tuple[str, Iterator[sse.Event | str]]]:
    """A streamed run that the web process at `url` drives, or the first one: its id, and the events after its first."""
    body = scripted(script, stream=True)
    address = f"{url or upstream.stack.url}/api/v1/chat"
    with httpx.stream("POST", address, json=body, headers=person.headers) as answer:
        events = sse.live(answer)
        yield _next(events).data["run_id"], events


@contextmanager
def _watched(url: str, person: Person, run: str, last: str = "") -> Iterator[Iterator[sse.Event | str]]:
    headers = person.headers | ({"Last-Event-ID": last} if last else {})
    with httpx.stream("GET", f"{url}/api/v1/runs/{run}/events", headers=headers) as answer:
        assert answer.status_code == 200
        yield sse.live(answer)


def _next(events: Iterator[sse.Event | str]) -> sse.Event:
    return next(event for event in events if isinstance(event, sse.Event))


def _rest(events: Iterator[sse.Event | str]) -> list[sse.Event]:
    return [event for event in events if isinstance(event, sse.Event)]


def _text(events: list[sse.Event]) -> str:
    return "".join(event.data["text"] for event in events if event.name == "message.delta")


def test_each_piece_reaches_a_reader_of_another_process_before_the_next_is_said(
    upstream: Upstream, tenant: Cast
) -> None:
    steps = Steps()
    script = upstream.script(streamed(*({"content": word} for word in WORDS), between=steps))
    with (
        _begun(upstream, tenant.alice, script) as (run, here),
        _watched(upstream.another_url, tenant.alice, run) as there,
    ):
        assert _next(there).name == "run.created"
        seen = []
        for word in WORDS:
            assert _next(here).data["text"] == word
            seen.append(_next(there))
            assert (seen[-1].name, seen[-1].data["text"]) == ("message.delta", word)
            steps.take()
        for _ in range(5):
            steps.take()
        rest, own = _rest(there), _rest(here)
    assert [event.name for event in rest] == ["run.completed"]
    assert rest[-1] == own[-1]
    assert len({event.id for event in [*seen, *rest]}) == len(WORDS) + 1


def test_a_reader_who_joins_in_the_middle_gets_the_text_so_far(upstream: Upstream, tenant: Cast) -> None:
    steps = Steps()
    script = upstream.script(streamed(*({"content": word} for word in WORDS), between=steps))
    with _begun(upstream, tenant.alice, script) as (run, here):
        for word in WORDS[:3]:
            first = _next(here)
            assert first.data["text"] == word
            if word != WORDS[2]:
                steps.take()
        with (
            _watched(upstream.another_url, tenant.alice, run) as there,
            _watched(upstream.another_url, tenant.alice, run, last=first.id) as resumed,
        ):
            assert _next(there).name == "run.created"
            assert _next(there).data["text"] == "One two three "
            # A second reader of the same process, and one who has the beginning already.
            with _watched(upstream.another_url, tenant.alice, run) as late:
                assert [_next(late).name, _next(late).data["text"]] == ["run.created", "One two three "]
            steps.take()
            assert _next(there).data["text"] == "four "
            assert _next(resumed).data["text"] == "four "
            for _ in range(6):
                steps.take()
            assert "four " + _text(_rest(resumed)) == "four five six."
            assert _text(_rest(there)) == "five six."


def test_text_that_was_voided_is_voided_for_readers_of_another_process_too(upstream: Upstream, tenant: Cast) -> None:
    cut, more = threading.Event(), Steps()
    script = upstream.script(
        streamed({"content": "Hel"}, {"content": ""}, finish=None, cut=True, between=cut),
        streamed({"content": "Good"}, {"content": "bye."}, between=more),
    )
    with (
        _begun(upstream, tenant.alice, script) as (run, _),
        _watched(upstream.another_url, tenant.alice, run) as there,
    ):
        assert [_next(there).name, _next(there).data["text"]] == ["run.created", "Hel"]
        cut.set()
        assert _next(there).name == "message.restarted"
        assert _next(there).data["text"] == "Good"
        for _ in range(5):
            more.take()
        rest = _rest(there)
    assert _text(rest) == "bye."
    assert (rest[-1].name, rest[-1].data["content"]) == ("run.completed", "Goodbye.")


def test_the_calls_between_two_turns_reach_readers_of_another_process(upstream: Upstream, tenant: Cast) -> None:
    more = threading.Event()
    script = upstream.script(
        completion("Saving.", ("c", "save_note", '{"title": "Milk", "content": "Two litres"}')),
        streamed({"content": "Sa"}, {"content": "ved."}, between=more),
    )
    with (
        _begun(upstream, tenant.alice, script) as (run, _),
        _watched(upstream.another_url, tenant.alice, run) as there,
    ):
        seen: list[sse.Event] = []
        while not (seen and seen[-1].data.get("text") == "Sa"):
            seen.append(_next(there))
        more.set()
        seen += _rest(there)
    assert [event.name for event in seen if event.name != "message.delta"] == [
        "run.created", "tool_call.proposed", "tool_call.running", "tool_call.settled", "run.completed"
    ]  # fmt: skip
    assert _text(seen) == "Saving.Saved."


def test_another_tenant_cannot_watch_and_nobody_is_told_on_its_behalf(
    upstream: Upstream, tenant: Cast, other_tenant: Cast
) -> None:
    more = threading.Event()
    script = upstream.script(streamed({"content": "Hel"}, {"content": "lo."}, between=more))
    with _begun(upstream, tenant.alice, script) as (run, here):
        assert _next(here).data["text"] == "Hel"
        for person in (other_tenant.alice, tenant.bob):
            answer = httpx.get(f"{upstream.another_url}/api/v1/runs/{run}/events", headers=person.headers)
            assert answer.status_code == 404
            assert "Hel" not in answer.text
        more.set()
        assert _rest(here)[-1].name == "run.completed"


def test_a_worker_that_took_over_passes_its_text_on(upstream: Upstream, tenant: Cast) -> None:
    never, steps = threading.Event(), Steps()
    script = upstream.script(
        streamed({"content": "Hel"}, {"content": "lo."}, between=never),
        streamed(*({"content": word} for word in WORDS), between=steps),
    )
    stack, doomed = upstream.stack, f"web of {uuid.uuid4().hex} web"
    try:
        url = stack.start_web(doomed)
        with _begun(upstream, tenant.alice, script, url) as (run, here):
            assert _next(here).data["text"] == "Hel"
            with _watched(stack.url, tenant.alice, run) as there:
                assert [_next(there).name, _next(there).data["text"]] == ["run.created", "Hel"]
                stack.kill(doomed)
                # Only now: on a busy machine who drives a run could lose its lease, and with beat its run.
                stack.start("beat")
                assert _next(there).name == "message.restarted"
                stack.kill("beat")
                for count, word in enumerate(WORDS, 1):
                    found = _next(there)
                    assert (found.name, found.data["text"]) == ("message.delta", word)
                    with _watched(upstream.another_url, tenant.alice, run) as late:
                        assert _next(late).name == "run.created"
                        # What was on its way to the reader before comes by itself.
                        heard, said = "", "".join(WORDS[:count])
                        while heard != said:
                            heard += _next(late).data["text"]
                            assert said.startswith(heard)
                    steps.take()
                for _ in range(5):
                    steps.take()
                rest = _rest(there)
    finally:
        if "beat" in stack.processes:
            stack.kill("beat")
        never.set()
    assert [event.name for event in rest] == ["run.completed"]
    assert rest[-1].data["content"] == "".join(WORDS)


def test_a_reader_whose_process_has_lost_redis_gets_the_whole_text_once_when_the_turn_ends(
    upstream: Upstream, tenant: Cast
) -> None:
    steps = Steps()
    script = upstream.script(streamed(*({"content": word} for word in WORDS), between=steps))
    url = upstream.stack.start_web("cut off web", REDIS_URL="redis://127.0.0.1:1/0")
    try:
        with _begun(upstream, tenant.alice, script) as (run, here), _watched(url, tenant.alice, run) as there:
            assert _next(there).name == "run.created"
            for word in WORDS:
                assert _next(here).data["text"] == word
                steps.take()
            for _ in range(5):
                steps.take()
            found = _rest(there)
    finally:
        upstream.stack.kill("cut off web")
    assert [event.name for event in found] == ["message.delta", "run.completed"]
    assert found[0].data["text"] == "".join(WORDS)
