"""Where events of a tenant go."""

from tests.rights.action import OWNERS, Action

ROWS = [
    Action(
        "Read, make, change and try notification targets",
        OWNERS,
        asks=("notification_target",),
        api=(
            "GET /api/v1/notification-targets/",
            "POST /api/v1/notification-targets/",
            "GET /api/v1/notification-targets/<id>/",
            "PATCH /api/v1/notification-targets/<id>/",
            "POST /api/v1/notification-targets/<id>/test/",
        ),
        page=(
            "GET /settings/notifications/",
            "POST /settings/notifications/",
            "POST /settings/notifications/<id>/",
            "POST /settings/notifications/<id>/test/",
        ),
    ),
]
