"""What an approval is of: the arguments that its approver has seen, whichever way it comes in."""

import uuid
from typing import Any

import pytest

from audit.canonical import sha256_hex
from tests.approvals.api import PATH, assert_untouched, decide, decision_rows, ledger_kinds, refused, request_row
from tests.approvals.requests import EDITED, INPUT, held
from tests.approvals.sockets import Socket
from tests.people import Cast, Person
from tests.stack import Stack

OTHERS = {"title": "Milk", "content": "Four litres"}
ORIGINAL, CHANGED = sha256_hex(INPUT), sha256_hex(EDITED)


def _shown(stack: Stack, person: Person, request: uuid.UUID) -> dict[str, Any]:
    body: dict[str, Any] = stack.get(person, f"{PATH}{request}/").json()
    return body


def _edited(stack: Stack, tenant: Cast, **more: Any) -> uuid.UUID:
    """A request that needs two, read by carol and then approved by olga with other arguments."""
    request = held(tenant.alice, approvals_needed=2, **more)
    assert _shown(stack, tenant.carol, request)["params_hash"] == ORIGINAL
    assert decide(stack, tenant.olga, request, "approve", arguments=EDITED).status_code == 200
    return request


def _assert_waits(request: uuid.UUID) -> None:
    """Only olga's edit has been decided."""
    row = request_row(request)
    assert (row["status"], row["call_status"], row["approved_input"]) == ("pending", "awaiting_approval", EDITED)
    assert len(decision_rows(request)) == 1
    assert ledger_kinds(request) == ["decided"]


# --- the second approver has not seen the edit -----------------------------------------------------------------------
@pytest.mark.parametrize(
    "body", [{}, {"seen": ORIGINAL}, {"reason": "Fine."}, {"arguments": OTHERS}, {"seen": "0" * 64}]
)
def test_an_edit_that_the_second_approver_has_not_seen_is_not_approved(
    stack: Stack, tenant: Cast, body: dict[str, Any]
) -> None:
    request = _edited(stack, tenant)
    answer = decide(stack, tenant.carol, request, "approve", **body)
    assert refused(answer) == (409, "arguments_changed")
    now = answer.json()["approval"]
    assert (now["id"], now["approved_input"], now["params_hash"]) == (str(request), EDITED, CHANGED)
    assert now == _shown(stack, tenant.carol, request)
    _assert_waits(request)
    # What the answer shows is what a knowing approval needs.
    assert decide(stack, tenant.carol, request, "approve", seen=now["params_hash"]).json()["status"] == "approved"


@pytest.mark.parametrize("frame", [{}, {"seen": ORIGINAL}, {"arguments": OTHERS}])
def test_an_unseen_edit_is_not_approved_over_the_socket(stack: Stack, tenant: Cast, frame: dict[str, Any]) -> None:
    request = _edited(stack, tenant)
    with Socket(stack, tenant.carol.headers) as socket:
        socket.ready()
        shown = socket.answer(type="approve", id=request, ref=1, **frame)
        assert (shown["type"], shown["ref"], shown["status"], shown["code"]) == ("refused", 1, 409, "arguments_changed")
        assert (shown["approval"]["approved_input"], shown["approval"]["params_hash"]) == (EDITED, CHANGED)
        _assert_waits(request)
        decided = socket.answer(type="approve", id=request, seen=shown["approval"]["params_hash"])
        assert (decided["type"], decided["approval"]["status"]) == ("decided", "approved")


def test_the_list_and_the_socket_show_the_hash_that_an_approval_names(stack: Stack, tenant: Cast) -> None:
    with Socket(stack, tenant.carol.headers) as socket:
        socket.ready()
        request = _edited(stack, tenant)
        assert socket.hear_of("approval")["approval"]["params_hash"] == CHANGED
    [listed] = stack.get(tenant.carol, PATH).json()["results"]
    assert (listed["id"], listed["params_hash"]) == (str(request), CHANGED)


# --- an edit voids for good ------------------------------------------------------------------------------------------
def test_an_approval_that_an_edit_voided_does_not_count_when_the_edit_is_taken_back(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    decide(stack, tenant.olga, request, "approve", arguments=EDITED)
    back = decide(stack, tenant.olga, request, "approve", arguments=INPUT, seen=CHANGED).json()
    assert (back["status"], back["approvals"], back["params_hash"]) == ("pending", 1, ORIGINAL)
    assert [each["counts"] for each in back["decisions"]] == [False, False, True]
    # Who says nothing has not seen that anybody edited at all.
    assert refused(decide(stack, tenant.carol, request, "approve")) == (409, "arguments_changed")
    assert request_row(request)["status"] == "pending"
    again = decide(stack, tenant.carol, request, "approve", seen=ORIGINAL).json()
    assert (again["status"], again["approvals"]) == ("approved", 2)
    assert [each["counts"] for each in again["decisions"]] == [False, False, True, True]
    assert [each["revision"] for each in decision_rows(request)] == [1, 2, 3, 3]


def test_who_edits_cannot_be_both_approvers(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    decide(stack, tenant.olga, request, "approve")
    decide(stack, tenant.olga, request, "approve", arguments=EDITED)
    assert refused(decide(stack, tenant.olga, request, "approve", seen=CHANGED)) == (409, "already_voted")
    assert refused(decide(stack, tenant.olga, request, "approve", arguments=EDITED, seen=CHANGED)) == (
        409, "already_voted",
    )  # fmt: skip
    assert request_row(request)["status"] == "pending"


def test_two_keys_of_one_person_are_one_approver(stack: Stack, tenant: Cast) -> None:
    from tests.browser.sessions import session_of

    request = held(tenant.alice, approvals_needed=2)
    assert decide(stack, tenant.carol, request, "approve").json()["approvals"] == 1
    with Socket(stack, {"Cookie": f"sessionid={session_of(tenant.carol)}", "Origin": stack.url}) as socket:
        socket.ready()
        shown = socket.answer(type="approve", id=request)
        assert (shown["status"], shown["code"], shown["approval"]["approvals"]) == (409, "already_voted", 1)
    assert request_row(request)["status"] == "pending"


def test_arguments_that_are_the_same_json_are_no_edit(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, "list_tasks", input={"limit": 1}, approvals_needed=2)
    decide(stack, tenant.carol, request, "approve")
    same = decide(stack, tenant.olga, request, "approve", arguments={"limit": 1.0}).json()
    assert (same["status"], same["approved_input"], [each["counts"] for each in same["decisions"]]) == (
        "approved", None, [True, True],
    )  # fmt: skip


# --- a denial ----------------------------------------------------------------------------------------------------
def test_a_denial_denies_whatever_the_arguments_are_unless_it_names_what_was_seen(stack: Stack, tenant: Cast) -> None:
    named, unnamed = _edited(stack, tenant), _edited(stack, tenant)
    assert refused(decide(stack, tenant.carol, named, "deny", seen=ORIGINAL)) == (409, "arguments_changed")
    _assert_waits(named)
    assert decide(stack, tenant.carol, named, "deny", seen=CHANGED).json()["status"] == "denied"
    assert decide(stack, tenant.carol, unnamed, "deny").json()["status"] == "denied"


@pytest.mark.parametrize("seen", [1, "", "abc", "A" * 64, "g" * 64, [], {}, True, f"{ORIGINAL}\n"])
@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_what_is_no_hash_is_refused(stack: Stack, tenant: Cast, verdict: str, seen: Any) -> None:
    request = held(tenant.alice)
    answer = decide(stack, tenant.carol, request, verdict, seen=seen)
    assert (*refused(answer), answer.json()["field"]) == (400, "invalid_request", "seen")
    assert_untouched(request)


def test_every_conflict_shows_the_request_as_it_is(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    decide(stack, tenant.olga, request, "deny")
    answer = decide(stack, tenant.carol, request, "approve")
    assert refused(answer) == (409, "already_decided")
    assert answer.json()["approval"]["status"] == "denied"
