"""An Idempotency-Key makes a repeated request the same run."""

import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from gateway.operations import sweeper
from tests.database import rows
from tests.hostile.upstream import ORIGIN, Upstream, completion, failing, scripted
from tests.people import Cast
from tests.rest import sse
from tests.stack import Stack

PATHS: dict[str, dict[str, str]] = {"fast": {}, "django": {"Origin": ORIGIN}}
NOTE = 'call: save_note {"title": "a", "content": "b"}'


def _key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def _runs(tenant: Cast) -> int:
    return len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id))


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_the_same_request_again_is_answered_with_the_same_run(stack: Stack, tenant: Cast, path: dict[str, str]) -> None:
    key = _key()
    first = stack.chat(tenant.alice, NOTE, headers=key | path)
    again = stack.chat(tenant.alice, NOTE, headers=key)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == first.json()
    assert _runs(tenant) == 1
    assert len(rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id)) == 1


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_another_body_under_the_same_key_is_422(stack: Stack, tenant: Cast, path: dict[str, str]) -> None:
    key = _key()
    stack.chat(tenant.alice, "hello", headers=key)
    for body in ({"content": "hello!"}, {"content": "hello", "model": "offline/demo"}):
        answer = httpx.post(f"{stack.url}/api/v1/chat", json=body, headers=tenant.alice.headers | key | path)
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
        assert answer.headers["content-type"] == "application/problem+json"
    assert _runs(tenant) == 1


def test_the_order_of_fields_and_the_way_of_delivery_make_no_other_body(stack: Stack, tenant: Cast) -> None:
    key = tenant.alice.headers | _key()
    url = f"{stack.url}/api/v1/chat"
    first = httpx.post(url, content=b'{"content": "hello", "model": "offline/demo"}', headers=key).json()
    again = httpx.post(url, content=b'{ "model":"offline/demo","stream":true, "content":"hello"}', headers=key)
    assert sse.parse(again.text)[-1].data == first
    assert _runs(tenant) == 1


def test_twenty_duplicates_at_once_are_one_run_and_one_note(stack: Stack, tenant: Cast) -> None:
    key, together = _key(), threading.Barrier(20)

    def ask(_: int) -> httpx.Response:
        together.wait()
        return stack.chat(tenant.alice, NOTE, headers=key)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert _runs(tenant) == 1
    assert len(rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id)) == 1
    assert len(rows("SELECT id FROM messages WHERE tenant_id = %(t)s", t=tenant.id)) == 2


def test_a_duplicate_in_a_conversation_of_its_own_is_no_conflict(stack: Stack, tenant: Cast) -> None:
    conversation = stack.chat(tenant.alice, "hello").json()["conversation_id"]
    key, together = _key(), threading.Barrier(8)

    def ask(_: int) -> httpx.Response:
        together.wait()
        return stack.chat(tenant.alice, NOTE, conversation_id=conversation, headers=key)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert _runs(tenant) == 2


def test_a_duplicate_while_the_run_is_under_way_waits_for_the_same_answer(upstream: Upstream, tenant: Cast) -> None:
    gate = threading.Event()
    script = upstream.script(completion("Hello."))
    script.replies[0].gate = gate
    key = _key()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(upstream.stack.chat, tenant.alice, **scripted(script), headers=key)
        script.wait()
        again = pool.submit(upstream.stack.chat, tenant.alice, **scripted(script), headers=key)
        gate.set()
        assert first.result().json() == again.result().json()
    assert len(script.asked) == 1
    assert _runs(tenant) == 1


def test_a_failed_run_stays_failed_under_its_key(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(failing(400), completion("Hello."))
    key = _key()
    first = upstream.stack.chat(tenant.alice, **scripted(script), headers=key)
    again = upstream.stack.chat(tenant.alice, **scripted(script), headers=key)
    assert (first.status_code, again.status_code) == (502, 502)
    assert first.json() == again.json()
    assert len(script.asked) == 1


def test_a_key_is_the_users_own(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    key = _key()
    people = (tenant.alice, tenant.bob, other_tenant.alice)
    ids = {stack.chat(person, "hello", headers=key).json()["run_id"] for person in people}
    assert len(ids) == 3


def test_with_its_conversation_a_key_is_free_again(stack: Stack, tenant: Cast) -> None:
    key = _key()
    first = stack.chat(tenant.alice, "hello", headers=key).json()
    path = f"{stack.url}/api/v1/conversations/{first['conversation_id']}/"
    assert httpx.delete(path, headers=tenant.alice.headers).status_code == 204
    again = stack.chat(tenant.alice, "something else", headers=key)
    assert (again.status_code, again.json()["run_id"] != first["run_id"]) == (200, True)


def test_a_refused_request_does_not_use_its_key_up(stack: Stack, tenant: Cast) -> None:
    key = _key()
    assert stack.chat(tenant.alice, "hello", model="nobody/m", headers=key).status_code == 404
    assert stack.chat(tenant.alice, "hello", headers=key).status_code == 200


def test_the_same_run_is_answered_after_the_web_process_was_killed(tenant: Cast) -> None:
    key = _key()
    with Stack() as stack:
        first = stack.chat(tenant.alice, NOTE, headers=key).json()
        stack.kill("web")
        stack.start("web")
        stack.wait_ready()
        assert stack.chat(tenant.alice, NOTE, headers=key).json() == first
    assert _runs(tenant) == 1


async def test_a_key_is_forgotten_after_24_hours_and_not_before(stack: Stack, tenant: Cast) -> None:
    old, young = _key(), _key()
    ids = {
        name: stack.chat(tenant.alice, "hello", headers=key).json()["run_id"]
        for name, key in (("old", old), ("young", young))
    }
    ages = {"old": "24 hours 1 minute", "young": "23 hours 59 minutes"}
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
        for name, age in ages.items():
            connection.execute("UPDATE runs SET created_at = now() - %s::interval WHERE id = %s", [age, ids[name]])
    await sweeper.tidy()
    assert stack.chat(tenant.alice, "hello", headers=young).json()["run_id"] == ids["young"]
    assert stack.chat(tenant.alice, "hello", headers=old).json()["run_id"] != ids["old"]
