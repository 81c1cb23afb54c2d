"""What everybody has: keys, applications, password, second factor."""

from tests.rights.action import EVERYBODY, NOBODY, Action

ROWS = [
    Action("Open the settings", EVERYBODY, page=("GET /settings/",)),
    Action(
        "Have keys; owners read and revoke the tenant's",
        EVERYBODY,
        api=(
            "GET /api/v1/keys/",
            "POST /api/v1/keys/",
            "GET /api/v1/keys/<id>/",
            "DELETE /api/v1/keys/<id>/",
            "POST /api/v1/keys/<id>/rotate/",
        ),
        page=(
            "GET /settings/keys/",
            "POST /settings/keys/",
            "POST /settings/keys/<id>/revoke/",
            "POST /settings/keys/<id>/rotate/",
        ),
    ),
    Action(
        "End what applications may do in one's name",
        EVERYBODY,
        page=("GET /settings/applications/", "POST /settings/applications/<id>/end/"),
    ),
    Action(
        "Change one's own password and second factor",
        EVERYBODY,
        page=(
            "GET /settings/password/",
            "POST /settings/password/",
            "POST /settings/password/single-sign-on/<id>/disconnect/",
            "GET /settings/second-factor/",
            "POST /settings/second-factor/",
            "POST /settings/second-factor/codes/",
            "POST /settings/second-factor/session/",
            "POST /settings/second-factor/off/",
        ),
    ),
    Action("Take a lost second factor away", NOBODY, command=("remove_second_factor",)),
]
