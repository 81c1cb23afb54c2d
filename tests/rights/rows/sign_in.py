"""How people come in: sessions, passkeys, single sign-on."""

from tests.rights.action import EVERYBODY, NOBODY, OWNERS, Action

ROWS = [
    Action(
        "See where one is logged in, and log out there",
        EVERYBODY,
        api=("GET /api/v1/sessions/", "DELETE /api/v1/sessions/", "DELETE /api/v1/sessions/<id>/"),
        page=("GET /settings/sessions/", "POST /settings/sessions/<id>/end/", "POST /settings/sessions/end/"),
    ),
    Action(
        "Have passkeys",
        EVERYBODY,
        page=(
            "GET /settings/passkeys/",
            "POST /settings/passkeys/add/",
            "POST /settings/passkeys/<id>/rename/",
            "POST /settings/passkeys/<id>/remove/",
        ),
    ),
    Action(
        "Say at which providers the tenant's people log in",
        OWNERS,
        asks=("sign_on",),
        api=(
            "GET /api/v1/sign-on/",
            "POST /api/v1/sign-on/",
            "GET /api/v1/sign-on/<id>/",
            "PATCH /api/v1/sign-on/<id>/",
            "DELETE /api/v1/sign-on/<id>/",
            "POST /api/v1/sign-on/<id>/test/",
        ),
        page=(
            "GET /settings/sign-on/",
            "POST /settings/sign-on/add/",
            "GET /settings/sign-on/<id>/",
            "POST /settings/sign-on/<id>/",
            "GET /settings/sign-on/<id>/remove/",
            "POST /settings/sign-on/<id>/remove/",
            "POST /settings/sign-on/<id>/look/",
            "POST /settings/sign-on/<id>/try/",
        ),
    ),
    Action(
        "Ask the tenant's people for a second factor on a page", OWNERS, page=("POST /settings/sign-on/second-factor/",)
    ),
    Action("Say whose a domain is", NOBODY, command=("confirm_domain",)),
]
