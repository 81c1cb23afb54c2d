"""Budgets and what was used."""

from tests.rights.action import EVERYBODY, NOBODY, OWNERS, Action

ROWS = [
    Action(
        "See one's own budgets and usage",
        EVERYBODY,
        api=(
            "GET /api/v1/budgets/",
            "GET /api/v1/budgets/<id>/",
            "GET /api/v1/usage/",
            "GET /api/v1/usage.csv",
        ),
        page=("GET /settings/spend/",),
    ),
    Action(
        "Set budgets",
        OWNERS,
        asks=("budget",),
        api=("POST /api/v1/budgets/", "PATCH /api/v1/budgets/<id>/", "DELETE /api/v1/budgets/<id>/"),
        page=(
            "POST /settings/spend/budgets/",
            "POST /settings/spend/budgets/<id>/",
            "POST /settings/spend/budgets/<id>/end/",
        ),
    ),
    Action("Set budgets of any tenant", NOBODY, command=("budgets",)),
]
