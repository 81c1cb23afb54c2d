"""Schedules."""

from typing import Any

from tests.people import Cast
from tests.rights.action import EVERYBODY, NOBODY, OWNERS, Action
from tests.schedules.rows import make_schedule
from tests.stack import Stack


def _of_bob(stack: Stack, tenant: Cast) -> dict[str, str]:
    return {"id": str(make_schedule(tenant.bob, next_at="tomorrow"))}


_ONE: Any = {"given": _of_bob, "hidden_from": frozenset({"member", "approver"})}
ROWS = [
    Action(
        "Keep schedules of one's own",
        EVERYBODY,
        api=(
            *("GET /api/v1/schedules/", "POST /api/v1/schedules/", "GET /api/v1/schedules/<id>/"),
            *("GET /api/v1/schedules/<id>/slots/", "POST /api/v1/schedules/<id>/run/"),
        ),
        page=(
            *("GET /settings/schedules/", "POST /settings/schedules/", "GET /settings/schedules/<id>/"),
            *("POST /settings/schedules/<id>/", "POST /settings/schedules/<id>/run/"),
            *("POST /settings/schedules/<id>/resume/", "GET /settings/schedules/export.jsonl"),
        ),
    ),
    Action(
        "Pause and delete another member's schedule",
        OWNERS,
        api=("PATCH /api/v1/schedules/<id>/", "DELETE /api/v1/schedules/<id>/"),
        body={"enabled": False},
        **_ONE,
    ),
    Action(
        "Pause and delete a schedule on its page",
        EVERYBODY,
        page=("POST /settings/schedules/<id>/pause/", "POST /settings/schedules/<id>/delete/"),
    ),
    Action("Pause and delete schedules of any tenant", NOBODY, command=("schedules",)),
]
