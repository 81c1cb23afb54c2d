"""Access conditions and alert levels in the admin, as an operator makes and changes them."""

import json
from typing import Any

import pytest

from tests.approvals.admin import Admin, operator
from tests.approvals.test_access_conditions import OFFICE_HOURS
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack

PATH, LEVELS = "/admin/approvals/accesscondition/", "/admin/approvals/alertlevel/"


@pytest.fixture
def admin(stack: Stack, tenant: Cast) -> Admin:
    """Olga, an owner of her tenant, as an operator."""
    operator(tenant.olga)
    return Admin(stack, tenant.olga)


def _form(cast: Cast, **more: Any) -> dict[str, Any]:
    return {
        "tenant": str(cast.id), "name": "Office hours", "tool_name": "save_note", "agent": "",
        "condition": json.dumps(OFFICE_HOURS), "time_zone": "UTC", "enabled": "on", **more,
    }  # fmt: skip


def _saved(cast: Cast) -> list[dict[str, Any]]:
    return rows(
        "SELECT id, name, condition, version, enabled FROM access_conditions WHERE tenant_id = %(t)s", t=cast.id
    )


def _recorded(cast: Cast) -> list[tuple[str, str, str]]:
    found = rows("SELECT target, action, via FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=cast.id)
    return [(each["target"], each["action"], each["via"]) for each in found]


def test_an_operator_makes_changes_and_deletes_a_condition(admin: Admin, tenant: Cast) -> None:
    assert admin.post(f"{PATH}add/", _form(tenant)).url.path == PATH
    [row] = _saved(tenant)
    assert (row["condition"], row["version"], row["enabled"]) == (OFFICE_HOURS, 1, True)
    one = f"{PATH}{row['id']}/change/"
    off = {"name": "Hours", "condition": json.dumps(OFFICE_HOURS), "time_zone": "UTC"}
    assert admin.post(one, off).url.path == PATH
    [row] = _saved(tenant)
    assert (row["name"], row["version"], row["enabled"]) == ("Hours", 2, False)
    admin.post(f"{PATH}{row['id']}/delete/", {"post": "yes"})
    assert _saved(tenant) == []
    assert _recorded(tenant) == [("access_condition", each, "admin") for each in ("created", "changed", "deleted")]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"condition": "{"}, "not valid JSON"),
        ({"condition": "{}"}, "The condition cannot be used"),
        ({"tool_name": "nothing"}, "There is no tool"),
        ({"time_zone": "Mars/Olympus"}, "time_zone must be a name"),
        ({"agent": "nobody"}, "has no agent"),
    ],
    ids=["no-json", "empty", "tool", "zone", "agent"],
)
def test_a_condition_that_means_nothing_is_refused_beside_its_field(
    admin: Admin, tenant: Cast, more: dict[str, str], words: str
) -> None:
    assert words in admin.post(f"{PATH}add/", _form(tenant, **more)).text
    assert (_saved(tenant), _recorded(tenant)) == ([], [])


def test_a_change_that_means_nothing_is_refused_on_the_page(admin: Admin, tenant: Cast) -> None:
    admin.post(f"{PATH}add/", _form(tenant))
    [row] = _saved(tenant)
    wrong = {"name": "Hours", "condition": json.dumps(OFFICE_HOURS), "time_zone": "Mars/Olympus"}
    answer = admin.post(f"{PATH}{row['id']}/change/", wrong)
    assert (answer.status_code, "time_zone must be a name" in answer.text) == (200, True)
    assert _saved(tenant) == [row]


def test_an_operator_sets_an_alert_level(admin: Admin, tenant: Cast) -> None:
    assert admin.post(f"{LEVELS}add/", {"tenant": str(tenant.id), "level": "2", "reason": "A"}).url.path == LEVELS
    assert admin.post(f"{LEVELS}{tenant.id}/change/", {"level": "0", "reason": ""}).url.path == LEVELS
    refused = admin.post(f"{LEVELS}{tenant.id}/change/", {"level": "4", "reason": ""})
    assert refused.url.path != LEVELS
    [row] = rows("SELECT level FROM alert_levels WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["level"] == 0
    assert _recorded(tenant) == [("alert_level", each, "admin") for each in ("created", "changed")]
