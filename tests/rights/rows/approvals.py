"""Approval requests, rules, access conditions and the level of alarm."""

from tests.people import Cast
from tests.rights.action import ALL_BUT_MEMBERS, DECIDERS, EVERYBODY, OWNERS, Action
from tests.stack import Stack


def _bobs_request(stack: Stack, cast: Cast) -> dict[str, str]:
    call = 'call: send_email {"to": "a@example.com", "subject": "a", "body": "b"}'
    waits = stack.chat(cast.bob, call).json()
    return {"id": waits["required_action"]["approvals"][0]["id"]}


ROWS = [
    Action("Read the tenant's approval requests", ALL_BUT_MEMBERS, api=("GET /api/v1/approvals/",)),
    Action("Read one's own approval request", EVERYBODY, api=("GET /api/v1/approvals/<id>/",)),
    Action(
        "Decide about others' approval requests",
        DECIDERS,
        api=("POST /api/v1/approvals/<id>/approve/", "POST /api/v1/approvals/<id>/deny/"),
        body={"seen": "of nothing"},
        given=_bobs_request,
    ),
    Action("Take one's own approval request back", EVERYBODY, api=("POST /api/v1/approvals/<id>/cancel/",)),
    Action(
        "Read approval rules, access conditions and the level of alarm",
        ALL_BUT_MEMBERS,
        api=(
            "GET /api/v1/approval-rules/",
            "GET /api/v1/approval-rules/<id>/",
            "GET /api/v1/access-conditions/",
            "GET /api/v1/access-conditions/<id>/",
            "GET /api/v1/alert-level/",
        ),
        page=("GET /approvals/rules/",),
    ),
    Action(
        "Make and change approval rules, access conditions and the level of alarm",
        OWNERS,
        asks=(
            "approval_rule",
            "access_condition",
            "alert_level",
            "alert_webhook",
        ),
        api=(
            "POST /api/v1/approval-rules/",
            "POST /api/v1/approval-rules/dry-run/",
            "PATCH /api/v1/approval-rules/<id>/",
            "POST /api/v1/access-conditions/",
            "POST /api/v1/access-conditions/dry-run/",
            "PATCH /api/v1/access-conditions/<id>/",
            "DELETE /api/v1/access-conditions/<id>/",
            "PUT /api/v1/alert-level/",
            "GET /api/v1/alert-level/webhook/",
            "POST /api/v1/alert-level/webhook/",
            "DELETE /api/v1/alert-level/webhook/",
        ),
        page=("GET /approvals/rules/new/", "POST /approvals/rules/new/", "POST /approvals/rules/<rule_id>/off/"),
    ),
]
