"""No input to any route is a 500: odd queries, paths, bodies, forms and headers, and each refusal in its form."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator

import pytest
from django.db import connections

from gateway.runs.lifecycle import stopping
from tests.approvals.admin import operator
from tests.browser.sessions import session_of
from tests.database import rows
from tests.fuzz import caller, routes, shapes
from tests.fuzz.queries import noted
from tests.people import Person, make_tenant
from tests.waiting import PATIENCE_SECONDS

ROUTES = routes.templates()
# Those of a query that are tried one by one, on each name that the route reads; all are tried on all names at once. A
# page of the admin takes longer, and is for operators alone.
SINGLE = ("huge", "not UTF-8", "date")
SINGLE_IN_ADMIN = ("huge",)
ASKING_NOTHING = ("/healthz", "/metrics", "/readyz", "/api/schema", "/api/docs", "/v1/")
HEADERS = (
    *("Accept", "Accept-Language", "Authorization", "Cookie", "Host", "Idempotency-Key", "If-None-Match", "Referer"),
    *("If-Modified-Since", "Last-Event-ID", "Origin", "X-Forwarded-For", "X-Forwarded-Proto", "X-Request-Id"),
    *("anthropic-beta", "anthropic-version", "x-api-key", "HX-Request", "Range", "Content-Type"),
)
# What the route reads of a body, with values that it takes.
FIELDS: dict[str, dict[str, object]] = {
    "/api/v1/chat": {
        "content": "x",
        "conversation_id": None,
        "agent": None,
        "model": "offline/demo",
        "stream": False,
        "wait": 0,
    },
    "/api/v1/tools/<str:name>/calls": {"arguments": {"title": "x"}, "wait": 0},
    "/api/v1/conversations/": {"title": "x"},
    "/api/v1/approval-rules/": {
        "name": "x",
        "tool": "send_email",
        "effect": "deny",
        "condition": {},
        "priority": 1,
        "tools": ["*"],
        "when": {},
        "reason": "x",
        "enabled": True,
        "starts_at": None,
        "ends_at": None,
    },
    "/api/v1/keys/": {"name": "x", "scopes": ["chat"], "expires_at": None},
    "/api/v1/keys/<uuid:id>/rotate/": {"overlap": 0},
    "/api/v1/erasures/": {"reason": "x", "user": "x", "conversation": None, "call": None, "until": None},
    "/api/v1/tenant/": {"keep_months": 1, "name": "x"},
    "/v1/chat/completions": {
        "model": "offline/demo",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [],
        "stream": False,
        "max_tokens": 5,
        "temperature": 1,
        "stop": "x",
        "user": "x",
        "metadata": {},
        "tool_choice": "auto",
        "response_format": {"type": "text"},
    },
    "/v1/responses": {
        "model": "offline/demo",
        "input": "x",
        "instructions": "x",
        "tools": [],
        "previous_response_id": None,
        "metadata": {},
        "store": True,
        "reasoning": {},
        "text": {},
    },
    "/v1/messages": {
        "model": "offline/demo",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "x"}],
        "system": "x",
        "tools": [],
        "tool_choice": {"type": "auto"},
        "metadata": {},
        "thinking": {"type": "disabled"},
    },
}
FIELDS["/v1/messages/count_tokens"] = FIELDS["/v1/messages"]
FIELDS["/api/v1/approval-rules/dry-run/"] = FIELDS["/api/v1/approval-rules/<uuid:id>/"] = FIELDS[
    "/api/v1/approval-rules/"
]
VERDICT: dict[str, object] = {"reason": "x", "seen": "0" * 64, "arguments": {}, "id": "x"}
FORM = [
    "username",
    "password",
    "tenant",
    "next",
    "reason",
    "arguments",
    "seen",
    "id",
    "name",
    "tool",
    "effect",
    "condition",
    "action",
    "_selected_action",
    "select_across",
    "confirm",
    "slug",
    "user",
    "role",
    "url",
    "rate",
    "old_password",
]


@pytest.fixture(scope="module", autouse=True)
def pooled() -> Iterator[None]:
    """Requests take their connections from pools, as in a web process, and do not open one each."""
    connections.close_all()
    for alias in ("default", "operator"):
        connections.settings[alias]["OPTIONS"]["pool"] = {"min_size": 0, "max_size": 8, "timeout": PATIENCE_SECONDS}
    yield
    connections.close_all()
    for alias in ("default", "operator"):
        connections[alias].close_pool()
        del connections.settings[alias]["OPTIONS"]["pool"]


@pytest.fixture(scope="module", autouse=True)
def no_refusals_logged() -> Iterator[None]:
    """Nobody reads thousands of refusals, and each would be written with a traceback; faults are logged as ever."""
    levels = {"django.request": logging.ERROR, "django.security": logging.CRITICAL}
    before = {name: logging.getLogger(name).level for name in levels}
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture(scope="module")
def olga(pooled: None) -> Person:
    """An owner who is an operator, too: nobody reaches further."""
    person = make_tenant().olga
    operator(person)
    return person


# What an operator says of every tenant there holds for the tests that follow, too.
OF_ALL_TENANTS = ("kill_switches", "model_settings", "model_providers")


class Fuzzer:
    """Sends requests as one person, and notes each answer that is none of a design."""

    def __init__(self, template: str, headers: dict[str, bytes]) -> None:
        self.template, self._headers = template, headers
        self.faults: list[str] = []

    async def send(self, method: str, url: str, what: str, body: bytes = b"", **headers: bytes) -> int:
        """One request; its status."""
        given = self._headers | {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            answer = await caller.ask(method, url, given, body)
        except Exception as error:
            self.faults.append(f"{method} {url[:80]} ({what}): {error!r}"[:300])
            return 500
        if wrong := _wrong(url, answer):
            self.faults.append(f"{method} {url[:80]} ({what}): {wrong}"[:400])
        return answer.status


def _wrong(url: str, answer: caller.Answer) -> str:
    """What is wrong with an answer; nothing when it is as designed."""
    shown = f"{answer.status} {answer.headers.get('content-type')} {answer.body[:200]!r}"
    if answer.status >= 500 and not (url.startswith("/readyz") and answer.status == 503):
        return shown
    if answer.status < 400:
        return ""
    kind, found = answer.headers.get("content-type", ""), answer.json()
    if url.startswith("/api/"):
        designed = kind == "application/problem+json" and found is not None and found["status"] == answer.status
    elif url.startswith("/v1/"):
        designed = kind == "application/json" and found is not None and bool(found["error"]["message"])
    else:
        designed = answer.status == 405 or bool(answer.body)
    return "" if designed else shown


@pytest.fixture
async def fuzzer(template: str, olga: Person) -> AsyncIterator[Fuzzer]:
    """Speaks by key to the APIs, and by session to the pages."""
    headers = {name: value.encode() for name, value in olga.headers.items()}
    if not template.startswith(("/api/", "/v1/")):
        session = await asyncio.to_thread(session_of, olga)
        cookies = f"csrftoken={'x' * 32}; sessionid={session}"
        headers = {"x-csrftoken": b"x" * 32, "cookie": cookies.encode()}
    yield Fuzzer(template, headers)
    await stopping.release_all()
    for table in OF_ALL_TENANTS:
        await asyncio.to_thread(rows, f"DELETE FROM {table} WHERE tenant_id IS NULL RETURNING tenant_id")


@pytest.mark.parametrize("template", ROUTES)
async def test_no_query_is_a_fault(template: str, fuzzer: Fuzzer) -> None:
    path, names = routes.filled(template), routes.query_names(template)
    with noted() as reads:
        status = await fuzzer.send("GET", path, "plain")
        for kind, value in shapes.QUERY_VALUES.items():
            await fuzzer.send("GET", f"{path}?" + "&".join(f"{name}={value}" for name in names), kind)
        single = reads.among(names) if status == 200 and not path.startswith(ASKING_NOTHING) else []
        # One of these may let another be read, which `single` takes in as it grows.
        for name in single:
            for kind in SINGLE_IN_ADMIN if path.startswith("/admin/") else SINGLE:
                await fuzzer.send("GET", f"{path}?{name}={shapes.QUERY_VALUES[kind]}", f"{name}={kind}")
            await fuzzer.send("GET", f"{path}?{name}=1&{name}={names.index(name)}", f"{name} twice")
            single += [each for each in reads.among(names) if each not in single]
    assert fuzzer.faults == []


@pytest.mark.parametrize("template", [each for each in ROUTES if routes.has_parameters(each)])
async def test_no_path_is_a_fault(template: str, fuzzer: Fuzzer) -> None:
    for kind, value in shapes.PATH_VALUES.items():
        for method in ("GET", "POST"):
            await fuzzer.send(method, routes.filled(template, value), kind)
    assert fuzzer.faults == []


@pytest.mark.parametrize("template", ROUTES)
async def test_no_body_is_a_fault(template: str, fuzzer: Fuzzer) -> None:
    path = routes.filled(template)
    program = path.startswith(("/api/", "/v1/"))
    # Pages take forms, and know no method but POST.
    for method in ("POST", "PATCH", "PUT", "DELETE") if program else ("POST",):
        if await fuzzer.send(method, path, "plain") == 405:
            continue
        kinds = shapes.KINDS if program else shapes.KINDS[4:7]
        for number, (what, body) in enumerate(shapes.BODIES.items()):
            for kind in dict.fromkeys([*(kinds[:1] if program else ()), kinds[number % len(kinds)]]):
                await fuzzer.send(method, path, f"{what} as {kind}", body, content_type=kind.encode("latin-1"))
        if program:
            for number, (what, body) in enumerate(shapes.json_bodies(FIELDS.get(template, VERDICT)).items()):
                # A key makes a request one that may be repeated, for which its body is remembered.
                key = {"idempotency_key": str(number).encode()} if number % 2 or "deep" in what else {}
                await fuzzer.send(method, path, what, body, content_type=b"application/json", **key)
        else:
            for what, body in shapes.forms(FORM).items():
                await fuzzer.send(method, path, what, body, content_type=b"application/x-www-form-urlencoded")
    assert fuzzer.faults == []


@pytest.mark.parametrize("template", ["/api/v1/chat", "/v1/chat/completions", "/v1/messages", "/"])
async def test_no_header_is_a_fault(template: str, fuzzer: Fuzzer) -> None:
    body = json.dumps(FIELDS.get(template, {})).encode()
    for name in HEADERS:
        for value in (b"", b"\xff\xfe", b"x" * 5000, b"'\";--", b"9" * 400, b"*/*;q=x", b"text/event-stream"):
            for method, given in (("GET", b""), ("POST", body)):
                await fuzzer.send(method, template, f"{name}: {value[:20]!r}", given, **{name: value})
    assert fuzzer.faults == []
