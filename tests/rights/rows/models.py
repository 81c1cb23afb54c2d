"""Providers and models."""

from tests.rights.action import OWNERS, Action

ROWS = [
    Action(
        "Add providers and change them",
        OWNERS,
        asks=("provider",),
        api=(
            "GET /api/v1/providers/",
            "POST /api/v1/providers/",
            "GET /api/v1/providers/<slug>/",
            "PATCH /api/v1/providers/<slug>/",
            "DELETE /api/v1/providers/<slug>/",
            "POST /api/v1/providers/<slug>/test/",
        ),
        page=(
            "GET /settings/models/-/new/",
            "POST /settings/models/-/new/",
            "GET /settings/models/<slug>/",
            "POST /settings/models/<slug>/",
            "POST /settings/models/<slug>/test/",
            "GET /settings/models/<slug>/remove/",
            "POST /settings/models/<slug>/remove/",
        ),
        command=("create_provider", "list_providers", "delete_provider"),
    ),
    Action(
        "Say which models are allowed, what replaces them, and what they cost",
        OWNERS,
        asks=("models",),
        api=("GET /api/v1/models/", "PUT /api/v1/models/", "PATCH /api/v1/models/"),
        page=("GET /settings/models/", "POST /settings/models/"),
        command=("set_models",),
    ),
]
