"""Members and invitations."""

from tests.rights.action import EVERYBODY, OWNERS, Action

ROWS = [
    Action(
        "Read one's own membership; owners the tenant's",
        EVERYBODY,
        api=("GET /api/v1/members/", "GET /api/v1/members/<id>/"),
    ),
    Action(
        "Change members' roles, and remove them",
        OWNERS,
        asks=("member",),
        api=("PATCH /api/v1/members/<id>/", "DELETE /api/v1/members/<id>/"),
        page=("POST /settings/people/<id>/role/", "POST /settings/people/<id>/remove/"),
        body={"role": "owner"},
    ),
    Action(
        "Invite people, read and revoke invitations",
        OWNERS,
        asks=("invitation",),
        api=(
            "GET /api/v1/invitations/",
            "POST /api/v1/invitations/",
            "DELETE /api/v1/invitations/<id>/",
        ),
        page=(
            "GET /settings/people/",
            "POST /settings/people/",
            "POST /settings/people/invitations/<id>/revoke/",
        ),
    ),
]
