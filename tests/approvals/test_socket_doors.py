"""Whom the approver's socket lets in, and whom it stops telling."""

import socket as sockets
from collections.abc import Callable, Iterator

import pytest
from django.contrib.sessions.models import Session
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tenants.models import ApiKey, Membership, User
from tenants.scope.routing import on_login
from tests.approvals.api import assert_untouched, decide
from tests.approvals.requests import held
from tests.approvals.sockets import Socket, page
from tests.browser.sessions import session_of
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

FORBIDDEN = 4403


def _status(stack: Stack, headers: dict[str, str], path: str = "/ws/approvals/") -> int:
    with pytest.raises(InvalidStatus) as refused:
        Socket(stack, headers, path)
    return refused.value.response.status_code


def _session(person: Person) -> dict[str, str]:
    return {"Cookie": f"sessionid={session_of(person)}"}


@pytest.mark.parametrize("reader", ["carol", "dana", "olga"])
def test_who_reads_approvals_comes_in_by_key_or_from_our_page(stack: Stack, tenant: Cast, reader: str) -> None:
    held(tenant.alice)
    person = getattr(tenant, reader)
    for headers in (person.headers, page(stack, person)):
        with Socket(stack, headers) as socket:
            assert socket.ready() == 1


def test_nobody_else_comes_in(stack: Stack, tenant: Cast) -> None:
    for headers in (
        {},
        {"Origin": stack.url},
        tenant.alice.headers,
        page(stack, tenant.alice),
        {"Authorization": "Bearer tg_unknown"},
        {"Authorization": f"Basic {tenant.carol.key}"},
        page(stack, tenant.carol) | {"Cookie": "sessionid=unknown"},
        page(stack, tenant.carol) | {"Cookie": 'sessionid="\\000"'},
        # A bearer that is none is not made good by a session.
        page(stack, tenant.carol, Authorization="Bearer tg_unknown"),
    ):
        assert _status(stack, headers) == 403


@pytest.mark.parametrize(
    "origin",
    [
        None, "null", "", "http://evil.example", "https://evil.example", "http://{host}.evil.example", "http://{name}",
        "http://{name}:1", "http://evil.example/{host}", "http://{host}@evil.example", "ftp://{host}", "{host}", "http://[",
        "http://user@{host}",
    ],
)  # fmt: skip
def test_a_session_counts_only_from_a_page_of_ours(stack: Stack, tenant: Cast, origin: str | None) -> None:
    headers = _session(tenant.carol)
    if origin is not None:
        headers["Origin"] = origin.format(host=stack.url.removeprefix("http://"), name="127.0.0.1")
    assert _status(stack, headers) == 403


def test_two_origins_are_none(stack: Stack, tenant: Cast) -> None:
    cookie = session_of(tenant.carol)
    with sockets.create_connection(("127.0.0.1", stack.port), PATIENCE_SECONDS) as wire:
        wire.sendall(
            f"GET /ws/approvals/ HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
            f"Cookie: sessionid={cookie}\r\nOrigin: {stack.url}\r\nOrigin: http://evil.example\r\n\r\n".encode()
        )
        # What the server makes of it comes before us, and is no welcome either.
        assert wire.recv(100).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 "))


def test_a_page_of_another_host_comes_in_where_the_operator_allows_its_origin(allowing: Stack, tenant: Cast) -> None:
    with Socket(allowing, page(allowing, tenant.carol) | {"Origin": "https://desk.example"}) as socket:
        assert socket.ready() == 0
    assert _status(allowing, page(allowing, tenant.carol) | {"Origin": "https://other.example"}) == 403


@pytest.fixture(scope="module")
def allowing() -> Iterator[Stack]:
    """A Toolgate that pages of https://desk.example may use."""
    with Stack(CORS_ALLOWED_ORIGINS="https://desk.example") as running:
        yield running


def test_there_is_one_socket_only(stack: Stack, tenant: Cast) -> None:
    for path in ("/", "/ws/", "/ws/approvals", "/ws/approvals/x", "/api/v1/approvals/"):
        assert _status(stack, tenant.carol.headers, path) == 403


def test_another_tenant_is_told_nothing_and_decides_nothing(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    ours, theirs = held(tenant.alice), held(other_tenant.alice)
    with Socket(stack, other_tenant.carol.headers) as socket:
        assert socket.ready() == 1
        refused = socket.answer(type="approve", id=ours, ref=1)
        assert (refused["status"], refused["code"], refused["id"]) == (404, "not_found", str(ours))
        assert_untouched(ours)
        assert decide(stack, tenant.carol, ours, "approve").status_code == 200
        assert decide(stack, other_tenant.olga, theirs, "approve").status_code == 200
        # Told in order, so what was not told before this was not told at all.
        assert socket.change() == (theirs, "approved")


def _demote(person: Person) -> None:
    Membership.objects.filter(user_id=person.scope.user_id).update(role="member")


def _remove(person: Person) -> None:
    Membership.objects.filter(user_id=person.scope.user_id).delete()


def _deactivate(person: Person) -> None:
    User.objects.filter(pk=person.scope.user_id).update(is_active=False)


def _revoke(person: Person) -> None:
    ApiKey.objects.filter(user_id=person.scope.user_id).update(revoked_at="2026-01-01T00:00:00Z")


def _change_password(person: Person) -> None:
    User.objects.filter(pk=person.scope.user_id).update(password="another")


@pytest.mark.parametrize(
    ("by", "change"),
    [
        ("key", _demote), ("session", _demote), ("key", _remove), ("session", _remove), ("key", _deactivate),
        ("session", _deactivate), ("key", _revoke), ("session", _change_password),
    ],
)  # fmt: skip
@pytest.mark.parametrize("moment", ["event", "verdict"])
def test_who_may_no_longer_read_is_told_nothing_more_and_decides_nothing(
    stack: Stack, tenant: Cast, by: str, change: Callable[[Person], None], moment: str
) -> None:
    decided, waiting = held(tenant.alice), held(tenant.alice)
    with Socket(stack, tenant.carol.headers if by == "key" else page(stack, tenant.carol)) as socket:
        socket.ready()
        with on_login("operator"):
            change(tenant.carol)
        if moment == "event":
            assert decide(stack, tenant.olga, decided, "approve").status_code == 200
        else:
            socket.send(type="approve", id=waiting)
        with pytest.raises(ConnectionClosed) as closed:
            socket.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == FORBIDDEN
    assert_untouched(waiting)


def test_who_logs_out_is_told_nothing_more(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    headers = page(stack, tenant.carol)
    with Socket(stack, headers) as socket:
        socket.ready()
        with on_login("operator"):
            Session.objects.filter(session_key=headers["Cookie"].partition("=")[2]).delete()
        decide(stack, tenant.olga, request, "approve")
        with pytest.raises(ConnectionClosed) as closed:
            socket.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == FORBIDDEN


def test_an_auditor_is_told_but_decides_nothing(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with Socket(stack, tenant.dana.headers) as socket:
        socket.ready()
        refused = socket.answer(type="approve", id=request)
        assert (refused["status"], refused["code"]) == (403, "not_an_approver")
        assert_untouched(request)
        decide(stack, tenant.carol, request, "deny")
        assert socket.change() == (request, "denied")
