"""Kill switches, limits of requests, and what holds calls that would reach outside."""

from tests.rights.action import ALL_BUT_MEMBERS, EVERYBODY, NOBODY, OWNERS, Action

ROWS = [
    Action(
        "See what is stopped",
        ALL_BUT_MEMBERS,
        api=("GET /api/v1/kill-switches/", "GET /api/v1/kill-switches/<id>/"),
        page=("GET /settings/safety/",),
    ),
    Action(
        "Stop something at once, and end that",
        OWNERS,
        asks=("kill_switch",),
        api=("POST /api/v1/kill-switches/", "DELETE /api/v1/kill-switches/<id>/"),
        page=("POST /settings/safety/", "POST /settings/safety/<id>/end/"),
    ),
    Action("Stop something in any tenant or in all", NOBODY, command=("kill_switch",)),
    Action("Read the limits of requests", EVERYBODY, api=("GET /api/v1/limits/",)),
    Action(
        "Set the limits of requests",
        OWNERS,
        asks=("request_limits",),
        api=("PATCH /api/v1/limits/",),
        page=("POST /settings/safety/limits/",),
    ),
    Action(
        "Say what becomes of calls that would send private data away", OWNERS, page=("POST /settings/safety/taint/",)
    ),
    Action("Set the operator's ceiling of a tenant's limits", NOBODY, command=("request_limits",)),
]
