"""Chats, tools and calls: what everybody does for themselves."""

from tests.rights.action import EVERYBODY, Action

ROWS = [
    Action("Chat", EVERYBODY, api=("POST /api/v1/chat",)),
    Action(
        "Follow, cancel and read one's own runs",
        EVERYBODY,
        api=(
            "GET /api/v1/runs/<run_id>",
            "GET /api/v1/runs/<run_id>/events",
            "POST /api/v1/runs/<run_id>/stream-token",
            "POST /api/v1/runs/<run_id>/cancel",
            "GET /api/v1/runs/<run_id>/trace",
            "GET /api/v1/runs/<run_id>/tree",
            "GET /api/v1/runs/<run_id>/replay",
        ),
    ),
    Action(
        "Have conversations",
        EVERYBODY,
        api=(
            "GET /api/v1/conversations/",
            "POST /api/v1/conversations/",
            "GET /api/v1/conversations/<id>/",
            "PATCH /api/v1/conversations/<id>/",
            "DELETE /api/v1/conversations/<id>/",
            "GET /api/v1/conversations/<id>/messages/",
            "POST /api/v1/conversations/<id>/branch/",
        ),
    ),
    Action(
        "List one's own tools, and why one may not use one",
        EVERYBODY,
        api=("GET /api/v1/tools/", "GET /api/v1/tools/<name>/access", "GET /api/v1/agents/<slug>/native"),
    ),
    Action("Call a tool without a chat", EVERYBODY, api=("POST /api/v1/tools/<name>/calls",)),
    Action(
        "Answer what a tool asks of oneself",
        EVERYBODY,
        api=(
            "GET /api/v1/questions/",
            "GET /api/v1/questions/<id>/",
            "POST /api/v1/questions/<id>/answer/",
        ),
        page=("GET /questions/",),
    ),
]
