"""What one person downloads, and connections that are all in use, are answered with words and hurt nobody else."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack

import httpx
import psycopg
import pytest

from tests.approvals.admin import operator
from tests.browser.sessions import session_of
from tests.pages.call_rows import row
from tests.people import Cast, Person, make_tenant
from tests.stack import Stack

KIBIBYTE = "x" * 1024


@pytest.fixture(scope="module")
def small() -> Iterator[Stack]:
    """A Toolgate with one connection for pages, one for everything else, and little patience."""
    with Stack(PAGES_POOL_SIZE="1", DATABASE_POOL_SIZE="1", DATABASE_POOL_SECONDS="1") as running:
        yield running


@pytest.fixture(scope="module")
def patient() -> Iterator[Stack]:
    """A Toolgate with two connections for pages, and two for everything else, waited for as long as it takes."""
    with Stack(PAGES_POOL_SIZE="2", DATABASE_POOL_SIZE="2", DATABASE_POOL_SECONDS="60") as running:
        yield running


def _session(stack: Stack, person: Person) -> httpx.Client:
    return httpx.Client(base_url=stack.url, cookies={"sessionid": session_of(person)})


def test_many_downloads_of_one_person_leave_everybody_elses_requests_alone(
    patient: Stack, tenant: Cast, other_tenant: Cast
) -> None:
    # More than fits into the buffers between us, so that a download that nobody reads stays open.
    for _ in range(40):
        row(tenant.alice, output={"text": KIBIBYTE * 512}, output_bytes=512 * 1024)
    row(tenant.bob)
    row(other_tenant.alice)
    with ExitStack() as entered, _session(patient, tenant.alice) as alice:
        together = threading.Barrier(24)

        def begin(_: int) -> httpx.Response:
            together.wait()
            request = alice.build_request("GET", "/history/export.jsonl")
            return alice.send(request, stream=True)

        with ThreadPoolExecutor(24) as threads:
            answers = list(threads.map(begin, range(24)))
        for answer in answers:
            entered.callback(answer.close)
        assert Counter(answer.status_code for answer in answers) == {200: 2, 429: 22}
        for answer in answers:
            if answer.status_code == 429:
                assert int(answer.headers["retry-after"]) > 0
                assert "Too many downloads at once" in answer.read().decode()
        for person in (tenant.bob, other_tenant.alice):
            with _session(patient, person) as client:
                assert client.get("/history/").status_code == 200
                assert len(client.get("/history/export.jsonl").text.splitlines()) == 1
            assert patient.get(person, "/api/v1/tool-calls/").status_code == 200
    with _session(patient, tenant.alice) as alice:
        status = 429
        while status == 429:
            with alice.stream("GET", "/history/export.jsonl") as again:
                status = again.status_code
        assert status == 200


def _api(method: str, path: str, body: dict[str, object] | None = None) -> Callable[[Stack, Person], httpx.Response]:
    def ask(stack: Stack, person: Person) -> httpx.Response:
        return httpx.request(method, f"{stack.url}{path}", json=body, headers=person.headers)

    return ask


TURNS = {"model": "offline/demo", "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]}
PAGES = ["/", "/history/", "/history/export.csv", "/approvals/", "/admin/", "/admin/audit/toolcall/"]
REST = {
    "list": _api("GET", "/api/v1/tool-calls/"),
    "async view": _api("GET", "/api/v1/runs/018f0000-0000-7000-8000-000000000000"),
    "fast": _api("POST", "/api/v1/chat", {"content": "hello"}),
}
COMPATIBLE = {
    "models": _api("GET", "/v1/models"),
    "chat completions": _api("POST", "/v1/chat/completions", TURNS),
    "messages": _api("POST", "/v1/messages", TURNS),
    "count": _api("POST", "/v1/messages/count_tokens", TURNS),
    "stored": _api("GET", "/v1/responses/resp_0"),
}


def _while_all_are_in_use(
    stack: Stack, person: Person, ask: Callable[[Stack, Person], httpx.Response]
) -> list[httpx.Response]:
    """What three at once are answered while whoever looks a person up has to wait; the last one once nobody has to."""
    with ThreadPoolExecutor(3) as threads, psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("LOCK TABLE users, memberships, api_keys IN ACCESS EXCLUSIVE MODE")
        asked = as_completed([threads.submit(ask, stack, person) for _ in range(3)])
        refused = [next(asked).result(), next(asked).result()]
        owner.rollback()
        return [*refused, next(asked).result()]


def _unavailable(answers: list[httpx.Response]) -> list[httpx.Response]:
    *refused, last = answers
    for answer in refused:
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) > 0
    assert last.status_code < 500
    return refused


@pytest.mark.parametrize("path", PAGES)
def test_a_page_without_a_connection_is_503_with_words(small: Stack, path: str) -> None:
    person = make_tenant().olga
    operator(person)
    session = session_of(person)

    def ask(stack: Stack, _: Person) -> httpx.Response:
        return httpx.get(f"{stack.url}{path}", cookies={"sessionid": session})

    for answer in _unavailable(_while_all_are_in_use(small, person, ask)):
        assert "Toolgate is busy for a moment" in answer.text


@pytest.mark.parametrize("ask", REST.values(), ids=REST)
def test_rest_without_a_connection_is_a_problem(
    small: Stack, tenant: Cast, ask: Callable[[Stack, Person], httpx.Response]
) -> None:
    for answer in _unavailable(_while_all_are_in_use(small, tenant.alice, ask)):
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "unavailable"


@pytest.mark.parametrize("ask", COMPATIBLE.values(), ids=COMPATIBLE)
def test_a_compatible_api_without_a_connection_answers_in_its_vendors_form(
    small: Stack, tenant: Cast, ask: Callable[[Stack, Person], httpx.Response]
) -> None:
    for answer in _unavailable(_while_all_are_in_use(small, tenant.alice, ask)):
        assert "database" in answer.json()["error"]["message"]


def test_event_streams_hold_no_connection_of_the_pages(patient: Stack, tenant: Cast, other_tenant: Cast) -> None:
    with ExitStack() as entered, _session(patient, tenant.alice) as alice:
        alice.headers["X-CSRFToken"] = alice.cookies["csrftoken"] = "x" * 32
        call = 'call: send_email {"to": "a@example.com", "subject": "a", "body": "b"}'
        run = alice.post("/api/v1/chat", json={"content": call}).json()
        assert run["status"] == "requires_action"
        for _ in range(3):
            request = alice.build_request("GET", f"/api/v1/runs/{run['run_id']}/events")
            answer = alice.send(request, stream=True)
            entered.callback(answer.close)
            assert answer.status_code == 200
        assert patient.get(other_tenant.alice, "/api/v1/tool-calls/").status_code == 200
        with _session(patient, other_tenant.alice) as client:
            assert client.get("/history/").status_code == 200
