"""What may be sent with a verdict over REST: a reason, and other arguments."""

from typing import Any

import httpx
import pytest

from tests.approvals.api import PATH, assert_untouched, decide, decision_rows, refused, request_row
from tests.approvals.requests import EDITED, INPUT, held
from tests.browser.sessions import session_of
from tests.people import Cast
from tests.stack import Stack


def test_an_edit_is_recorded_as_a_diff_beside_what_the_model_sent(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    body = decide(stack, tenant.carol, request, "approve", arguments=EDITED, reason="More.").json()
    edit = [
        {"op": "replace", "path": "/content", "before": "Two litres", "after": "Three litres"},
        {"op": "add", "path": "/tags", "after": ["shop"]},
    ]
    assert (body["input"], body["approved_input"], body["decisions"][0]["edit"]) == (INPUT, EDITED, edit)
    row = request_row(request)
    assert (row["input"], row["approved_input"]) == (INPUT, EDITED)
    assert decision_rows(request)[0]["edit"] == edit
    assert decision_rows(request)[0]["params_hash"] == row["params_hash"]


def test_arguments_as_they_were_are_no_edit(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    body = decide(stack, tenant.carol, request, "approve", arguments=INPUT).json()
    assert (body["status"], body["approved_input"], body["decisions"][0]["edit"]) == ("approved", None, None)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"title": "Milk"}, "arguments.content"),
        ({**INPUT, "title": 1}, "arguments.title"),
        ({**INPUT, "colour": "red"}, "arguments.colour"),
        ({**INPUT, "tags": [1]}, "arguments.tags.0"),
    ],
)
def test_an_edit_that_the_tool_does_not_take_changes_nothing(
    stack: Stack, tenant: Cast, arguments: dict[str, Any], field: str
) -> None:
    request = held(tenant.alice)
    answer = decide(stack, tenant.carol, request, "approve", arguments=arguments)
    assert (*refused(answer), answer.json()["field"]) == (400, "invalid_arguments", field)
    assert_untouched(request)


def test_a_call_whose_tool_has_changed_is_not_edited(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, schema_hash="0" * 64)
    assert refused(decide(stack, tenant.carol, request, "approve", arguments=EDITED)) == (400, "invalid_arguments")
    assert_untouched(request)
    assert decide(stack, tenant.carol, request, "deny").status_code == 200


@pytest.mark.parametrize(
    ("verdict", "body", "field"),
    [
        ("approve", b"{", None),
        ("approve", b"\xff", None),
        ("approve", b"[]", None),
        ("deny", b'"no"', None),
        ("approve", b'{"reason": 1}', "reason"),
        ("approve", b'{"reason": "a\\u0000b"}', "reason"),
        ("deny", b'{"reason": "\\ud800"}', "reason"),
        ("deny", b'{"reason": "' + b"x" * 2001 + b'"}', "reason"),
        ("approve", b'{"arguments": []}', "arguments"),
        ("approve", b'{"arguments": "{}"}', "arguments"),
        ("approve", b'{"arguments": {"title": "a", "title": "b"}}', "title"),
        ("approve", b'{"arguments": {"title": NaN}}', None),
        ("approve", b'{"arguments": {"title": 12345678901234567890}}', None),
        ("approve", b'{"arguments": ' + b'{"a":' * 100 + b"1" + b"}" * 101, None),
        ("approve", b'{"argument": {"title": "a"}}', "argument"),
        ("deny", b'{"arguments": {"title": "a"}}', "arguments"),
        ("approve", b'{"reason": "' + b"x" * 300_000 + b'"}', None),
    ],
)
def test_a_body_that_makes_no_sense_decides_nothing(
    stack: Stack, tenant: Cast, verdict: str, body: bytes, field: str | None
) -> None:
    request = held(tenant.alice)
    headers = tenant.carol.headers | {"Content-Type": "application/json"}
    answer = httpx.post(f"{stack.url}{PATH}{request}/{verdict}/", content=body, headers=headers)
    assert refused(answer) == (400, "invalid_request")
    assert answer.json().get("field") == field
    assert_untouched(request)


def test_an_edit_that_comes_in_pieces_is_not_lost(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    pieces = iter([b'{"arguments": {"title": "Milk", ', b'"content": "Three litres", "tags": ["shop"]}}'])
    answer = httpx.post(f"{stack.url}{PATH}{request}/approve/", content=pieces, headers=tenant.carol.headers)
    assert (answer.status_code, answer.json()["approved_input"]) == (200, EDITED)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"reason": null}', b'{"reason": "", "arguments": null}'])
def test_nothing_has_to_be_said(stack: Stack, tenant: Cast, body: bytes) -> None:
    request = held(tenant.alice)
    answer = httpx.post(f"{stack.url}{PATH}{request}/approve/", content=body, headers=tenant.carol.headers)
    assert (answer.status_code, answer.json()["decisions"][0]["reason"]) == (200, "")


def test_a_session_decides_only_with_its_csrf_token(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with httpx.Client(base_url=stack.url, cookies={"sessionid": session_of(tenant.carol)}) as browser:
        assert refused(browser.post(f"{PATH}{request}/approve/")) == (403, "forbidden")
        assert_untouched(request)
        browser.get("/")
        headers = {"X-CSRFToken": browser.cookies["csrftoken"]}
        assert browser.post(f"{PATH}{request}/approve/", headers=headers).status_code == 200
