"""What the approver's socket tells, and how it answers verdicts and garbage."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from approvals.web.live_socket import MOST_CHANGES
from tenants.scope.routing import on_login
from tests.approvals.api import assert_untouched, decide, decision_rows, overdue, request_row
from tests.approvals.requests import EDITED, INPUT, held
from tests.approvals.sockets import Socket, page
from tests.people import Cast
from tests.stack import Stack
from tools.models import ToolSetting

NOTE = 'call: save_note {"title": "a", "content": "b"}'


def test_a_new_request_and_its_decision_are_told_to_everybody_who_watches(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", tier="elevated")
    with Socket(stack, page(stack, tenant.carol)) as carol, Socket(stack, tenant.dana.headers) as dana:
        assert (carol.ready(), dana.ready()) == (0, 0)
        asked = stack.chat(tenant.alice, NOTE).json()["required_action"]["approvals"][0]
        for socket, decidable in ((carol, True), (dana, False)):
            approval = socket.hear_of("approval")["approval"]
            assert (approval["id"], approval["status"], approval["tool"]) == (asked["id"], "pending", "save_note")
            assert (approval["input"], approval["decidable"]) == ({"title": "a", "content": "b"}, decidable)
        request = uuid.UUID(asked["id"])
        assert decide(stack, tenant.olga, request, "approve").status_code == 200
        assert (carol.change(), dana.change()) == ((request, "approved"), (request, "approved"))


def test_a_verdict_over_the_socket_is_a_decision_like_any_other(stack: Stack, tenant: Cast) -> None:
    approved, denied = held(tenant.alice), held(tenant.alice)
    with Socket(stack, page(stack, tenant.carol)) as socket:
        assert socket.ready() == 2
        decided = socket.answer(type="approve", id=approved, ref=7, reason="Fine.", arguments=EDITED)
        assert (decided["type"], decided["ref"], decided["approval"]["status"]) == ("decided", 7, "approved")
        assert decided["approval"]["approved_input"] == EDITED
        decided = socket.answer(type="deny", id=str(denied), ref="no-1", reason="No.")
        assert (decided["type"], decided["ref"], decided["approval"]["status"]) == ("decided", "no-1", "denied")
    for request, verdict, reason in ((approved, "approve", "Fine."), (denied, "deny", "No.")):
        found = [(each["verdict"], each["via"], each["reason"]) for each in decision_rows(request)]
        assert found == [(verdict, "socket", reason)]
    assert request_row(denied)["error_code"] == "approval_denied"


def test_a_verdict_is_refused_for_the_same_reasons_as_over_rest(stack: Stack, tenant: Cast) -> None:
    own, done, late, invalid = held(tenant.carol), held(tenant.alice), held(tenant.alice), held(tenant.alice)
    decide(stack, tenant.olga, done, "approve")
    overdue(late)
    with Socket(stack, tenant.carol.headers) as socket:
        socket.ready()
        for request, status, code in ((own, 403, "own_request"), (done, 409, "already_decided"),
                                      (late, 410, "approval_expired"), (uuid.uuid4(), 404, "not_found")):  # fmt: skip
            refused = socket.answer(type="approve", id=request, ref=status)
            assert (refused["type"], refused["ref"], refused["id"]) == ("refused", status, str(request))
            assert (refused["status"], refused["code"]) == (status, code)
            assert refused["detail"] and "field" not in refused
        refused = socket.answer(type="approve", id=invalid, arguments={**INPUT, "title": 1})
        assert (refused["status"], refused["code"], refused["field"]) == (400, "invalid_arguments", "arguments.title")
    assert_untouched(own)
    assert_untouched(invalid)


def test_of_verdicts_that_race_over_many_sockets_exactly_one_counts(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    barrier = Barrier(10)

    def one(index: int) -> dict[str, Any]:
        with Socket(stack, (tenant.carol, tenant.olga)[index % 2].headers) as socket:
            socket.ready()
            barrier.wait()
            return socket.answer(type="approve", id=request)

    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(one, range(10)))
    assert sorted(answer["type"] for answer in answers) == ["decided"] + ["refused"] * 9
    assert {answer["status"] for answer in answers if answer["type"] == "refused"} == {409}
    assert len(decision_rows(request)) == 1


GARBAGE: list[tuple[str | bytes, str | None]] = [
    ("", "type"), ("{", None), ("[]", None), ("null", None), ("nonsense", None), ("NaN", None), ("\ufeff{}", None),
    (b"\x00\xff", None), (b'{"type": "approve"}', None), ("[" * 100_000, None), ('{"a":' * 100 + "1" + "}" * 100, None),
    ('{"type": "approve", "type": "deny"}', "type"), ('{"type": "Approve"}', "type"), ('{"type": ["approve"]}', "type"),
    ('{"type": "approve"}', "id"), ('{"type": "approve", "id": 7}', "id"), ('{"type": "approve", "id": "7"}', "id"),
    ('{"type": "approve", "id": {}}', "id"), ('{"type": "approval.changed", "id": "%s"}', "type"),
    ('{"type": "approve", "id": "%s", "ref": {}}', "ref"), ('{"type": "approve", "id": "%s", "ref": true}', "ref"),
    ('{"type": "approve", "id": "%s", "ref": ""}', "ref"), ('{"type": "approve", "id": "%s", "reason": 1}', "reason"),
    ('{"type": "approve", "id": "%s", "ref": "' + "x" * 101 + '"}', "ref"),
    ('{"type": "approve", "id": "%s", "reason": "\\u0000"}', "reason"),
    ('{"type": "approve", "id": "%s", "reason": "' + "x" * 2001 + '"}', "reason"),
    ('{"type": "approve", "id": "%s", "arguments": []}', "arguments"),
    ('{"type": "approve", "id": "%s", "argument": {}}', "argument"),
    ('{"type": "deny", "id": "%s", "arguments": {}}', "arguments"),
    ('{"type": "approve", "id": "%s", "reason": "' + "x" * 300_000 + '"}', None),
]  # fmt: skip


def test_garbage_is_refused_frame_by_frame_and_the_socket_lives(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with Socket(stack, tenant.carol.headers) as socket:
        socket.ready()
        for frame, field in GARBAGE:
            socket.wire.send(frame.replace("%s", str(request)) if isinstance(frame, str) else frame)
            refused = socket.hear_of("refused")
            shown = frame[:80]
            assert (refused["type"], refused["status"], refused["code"]) == ("refused", 400, "invalid_request"), shown
            assert refused.get("field") == field, shown
        assert_untouched(request)
        assert socket.answer(type="approve", id=request)["type"] == "decided"
    assert "Traceback" not in stack.log("web")


def test_a_frame_beyond_what_the_server_takes_ends_only_its_socket(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with Socket(stack, tenant.carol.headers) as patient, Socket(stack, tenant.olga.headers) as flooding:
        patient.ready()
        flooding.ready()
        with suppress(ConnectionClosed):
            flooding.wire.send("x" * 20_000_000)
        with pytest.raises(ConnectionClosed):
            flooding.hear()
        assert decide(stack, tenant.carol, request, "approve").status_code == 200
        assert patient.change() == (request, "approved")


def test_a_client_that_does_not_listen_costs_nobody_else_anything(stack: Stack, tenant: Cast) -> None:
    with Socket(stack, tenant.olga.headers) as deaf, Socket(stack, tenant.carol.headers) as socket:
        deaf.ready()
        socket.ready()
        long = {"title": "Milk", "content": "x" * 90_000}
        made = [held(tenant.alice, input=long) for _ in range(60)]
        for request in made:
            assert socket.answer(type="approve", id=request)["type"] == "decided"
        assert len(made) < MOST_CHANGES
        # It is told in the end, each request once, since nothing is told twice while it waits to be told.
        assert {deaf.change() for _ in made} == {(request, "approved") for request in made}


def test_what_is_told_is_json_that_any_client_reads(stack: Stack, tenant: Cast) -> None:
    hostile = {"title": "\u202eevil\u2028", "content": "</script> \U0001f600"}
    request = held(tenant.alice, input=hostile)
    with Socket(stack, tenant.carol.headers) as socket:
        socket.ready()
        decide(stack, tenant.olga, request, "approve")
        message = socket.hear_of("approval")
    assert message["approval"]["input"] == hostile
