"""Approval requests over REST, as a member's client asks for them, and as the tables hold them."""

import os
import uuid
from typing import Any

import httpx
import psycopg

from tests.database import rows
from tests.people import Person
from tests.stack import Stack

PATH = "/api/v1/approvals/"


def listed(stack: Stack, person: Person, **query: Any) -> list[uuid.UUID]:
    """The ids on the first page of the queue."""
    answer = stack.get(person, PATH, params=query)
    assert answer.status_code == 200, answer.text
    return [uuid.UUID(each["id"]) for each in answer.json()["results"]]


def decide(stack: Stack, person: Person, request: uuid.UUID, verdict: str, **body: Any) -> httpx.Response:
    """`POST …/approve/`, deny or cancel."""
    return httpx.post(f"{stack.url}{PATH}{request}/{verdict}/", json=body, headers=person.headers)


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of an answer that is a problem."""
    assert answer.headers["Content-Type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


def overdue(request: uuid.UUID) -> None:
    """Let the time of a request be over."""
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("UPDATE approval_requests SET expires_at = now() - interval '1 s' WHERE id = %s", [request])


def request_row(request: uuid.UUID) -> dict[str, Any]:
    """The request, and its call's status, error code and approved input, as they stand."""
    return rows(
        "SELECT r.*, c.status AS call_status, c.error_code, c.error_message, c.input, c.approved_input"
        " FROM approval_requests r JOIN tool_calls c ON c.id = r.call_id WHERE r.id = %(id)s",
        id=request,
    )[0]


def decision_rows(request: uuid.UUID) -> list[dict[str, Any]]:
    """The decisions about a request, oldest first."""
    return rows("SELECT * FROM approval_decisions WHERE request_id = %(id)s ORDER BY id", id=request)


def ledger_kinds(request: uuid.UUID) -> list[str]:
    """What the ledger states of the request's call."""
    found = rows(
        "SELECT e.kind FROM ledger_entries e JOIN approval_requests r ON r.call_id = e.call_id"
        " WHERE r.id = %(id)s ORDER BY e.seq",
        id=request,
    )
    return [each["kind"] for each in found]


def assert_untouched(request: uuid.UUID) -> None:
    """Nothing has been decided about it."""
    row = request_row(request)
    assert (row["status"], row["call_status"], row["decided_at"]) == ("pending", "awaiting_approval", None)
    assert row["approved_input"] is None
    assert decision_rows(request) == []
    assert ledger_kinds(request) == []
