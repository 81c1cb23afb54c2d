"""Services, and one's own accounts at them."""

from tests.rights.action import EVERYBODY, OWNERS, Action

ROWS = [
    Action(
        "Connect services and change them",
        OWNERS,
        asks=(
            "service",
            "service_tool",
        ),
        api=(
            "GET /api/v1/services/",
            "POST /api/v1/services/",
            "GET /api/v1/services/catalogue/",
            "GET /api/v1/services/<slug>/",
            "PATCH /api/v1/services/<slug>/",
            "DELETE /api/v1/services/<slug>/",
            "POST /api/v1/services/<slug>/refresh/",
            "POST /api/v1/services/<slug>/test/",
            "PATCH /api/v1/services/<slug>/tools/<tool>/",
            "POST /api/v1/services/<slug>/tools/<tool>/accept/",
        ),
        page=(
            "GET /settings/services/",
            "GET /settings/services/-/new/",
            "POST /settings/services/-/new/",
            "GET /settings/services/-/catalogue/<name>/",
            "POST /settings/services/-/catalogue/<name>/",
            "GET /settings/services/<slug>/",
            "POST /settings/services/<slug>/settings/",
            "GET /settings/services/<slug>/feeds/",
            "POST /settings/services/<slug>/feeds/",
            "POST /settings/services/<slug>/test/",
            "POST /settings/services/<slug>/refresh/",
            "POST /settings/services/<slug>/remove/",
            "POST /settings/services/<slug>/tools/",
            "GET /settings/services/<slug>/tools/<name>/",
            "POST /settings/services/<slug>/tools/<name>/accept/",
        ),
    ),
    Action(
        "Connect one's own accounts at services",
        EVERYBODY,
        api=(
            "GET /api/v1/connections/",
            "DELETE /api/v1/connections/<slug>/",
            "POST /api/v1/connections/<slug>/connect/",
        ),
        page=(
            "GET /settings/connections/",
            "POST /settings/connections/<slug>/connect/",
            "POST /settings/connections/<slug>/disconnect/",
        ),
    ),
]
