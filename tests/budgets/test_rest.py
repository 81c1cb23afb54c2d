"""Budgets and usage over REST."""

import csv
import io
import json
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.budgets.rows import make_budget
from tests.database import rows
from tests.pages.browsing import InProcess
from tests.people import Cast, Person

BUDGETS, USAGE = "/api/v1/budgets/", "/api/v1/usage/"


class Api:
    """Somebody's client."""

    def __init__(self, person: Person):
        self._client = InProcess(headers=person.headers)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = self._client.generic(method, path, "" if body is None else json.dumps(body), "application/json")
        json_like = "json" in answer.headers.get("Content-Type", "")
        return answer.status_code, json.loads(answer.content) if json_like else answer.content.decode()


def use(tenant: Cast, person: Person, cost: str | None = "0.1", **more: Any) -> None:
    """A row of usage."""
    columns: dict[str, Any] = {
        "tenant_id": tenant.id,
        "user_id": person.scope.user_id,
        "run_id": uuid.uuid4(),
        "turn": 1,
        "model": "openai/gpt-4o-mini",
        "input_tokens": 100,
        "output_tokens": 10,
        "cost": None if cost is None else Decimal(cost),
        "at": datetime.now(UTC),
    } | more
    names, places = ", ".join(columns), ", ".join(f"%({name})s" for name in columns)
    rows(f"INSERT INTO turn_usage ({names}) VALUES ({places}) RETURNING id", **columns)


def test_a_budget_is_set_listed_changed_and_ended_and_each_is_on_record(tenant: Cast) -> None:
    api = Api(tenant.olga)
    status, made = api("POST", BUDGETS, {"unit": "usd", "window": "month", "limit": "50.00"})
    assert status == 201, made
    assert {name: made[name] for name in ("scope", "unit", "window", "limit", "spent", "reserved")} == {
        "scope": {"tenant": str(tenant.id)},
        "unit": "usd",
        "window": "month",
        "limit": "50",
        "spent": "0",
        "reserved": "0",
    }
    assert made["ends_at"].endswith("-01T00:00:00Z")
    assert api("GET", BUDGETS)[1]["results"] == [made]
    status, changed = api("PATCH", f"{BUDGETS}{made['id']}/", {"limit": "0.10"})
    assert (status, changed["limit"]) == (200, "0.1")
    assert api("DELETE", f"{BUDGETS}{made['id']}/")[0] == 204
    assert api("GET", f"{BUDGETS}{made['id']}/")[0] == 404
    said = rows(
        "SELECT action, changes FROM setting_changes WHERE tenant_id = %(id)s AND target = 'budget' ORDER BY id",
        id=tenant.id,
    )
    assert [each["action"] for each in said] == ["created", "changed", "deleted"]
    assert said[1]["changes"] == {"limit": ["50", "0.1"]}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"unit": "usd", "window": "day", "limit": "-1"}, "limit"),
        ({"unit": "usd", "window": "day", "limit": "1e30"}, "limit"),
        ({"unit": "usd", "window": "day", "limit": "nan"}, "limit"),
        ({"unit": "usd", "window": "day", "limit": "0.0000001"}, "limit"),
        ({"unit": "usd", "window": "day", "limit": True}, "limit"),
        ({"unit": "usd", "window": "day", "limit": None}, "limit"),
        ({"unit": "usd", "window": "day", "limit": [1]}, "limit"),
        ({"unit": "tokens", "window": "day", "limit": "1.5"}, "limit"),
        ({"unit": "eur", "window": "day", "limit": "1"}, "unit"),
        ({"unit": ["usd"], "window": "day", "limit": "1"}, "unit"),
        ({"unit": "usd", "window": "week", "limit": "1"}, "window"),
        ({"unit": "usd", "window": "day", "limit": "1", "scope": "tenant"}, "scope"),
        ({"unit": "usd", "window": "day", "limit": "1", "scope": {"user": "x"}}, "scope"),
        ({"unit": "usd", "window": "day", "limit": "1", "scope": {"user": str(uuid.UUID(int=1))}}, "scope"),
        ({"unit": "usd", "window": "day", "limit": "1", "scope": {"tenant": str(uuid.UUID(int=1))}}, "scope"),
        ({"unit": "usd", "window": "day", "limit": "1", "colour": "red"}, "colour"),
    ],
    ids=lambda value: None if isinstance(value, str) else json.dumps(value)[:60],
)
def test_what_is_no_budget_is_refused_with_the_field_at_fault(tenant: Cast, given: Any, field: str) -> None:
    status, problem = Api(tenant.olga)("POST", BUDGETS, given)
    assert (status, problem["code"], problem["field"]) == (400, "invalid_request", field)
    assert rows("SELECT id FROM budgets WHERE tenant_id = %(id)s", id=tenant.id) == []


@pytest.mark.parametrize(("limit", "shown"), [("0", "0"), (5, "5"), ("1000000000000", "1000000000000"), (0.1, "0.1")])
def test_limits_are_exact(tenant: Cast, limit: Any, shown: str) -> None:
    status, made = Api(tenant.olga)("POST", BUDGETS, {"unit": "usd", "window": "total", "limit": limit})
    assert (status, made["limit"], made["ends_at"]) == (201, shown, None)


def test_there_is_one_budget_of_a_scope_unit_and_window(tenant: Cast, other_tenant: Cast) -> None:
    body = {"unit": "usd", "window": "day", "limit": "1", "scope": {"user": str(tenant.alice.scope.user_id)}}
    api = Api(tenant.olga)
    assert api("POST", BUDGETS, body)[0] == 201
    status, problem = api("POST", BUDGETS, body)
    assert (status, problem["code"]) == (409, "budget_exists")
    # Nobody sets one about people of another tenant.
    assert Api(other_tenant.olga)("POST", BUDGETS, body)[0] == 400


def test_members_see_their_own_budgets_and_change_none(tenant: Cast, other_tenant: Cast) -> None:
    own = make_budget(tenant, 1, user_id=tenant.alice.scope.user_id)
    others = [make_budget(tenant, 1), make_budget(tenant, 2, user_id=tenant.bob.scope.user_id)]
    foreign = make_budget(other_tenant, 3)
    api = Api(tenant.alice)
    assert [each["id"] for each in api("GET", BUDGETS)[1]["results"]] == [str(own)]
    assert len(Api(tenant.dana)("GET", BUDGETS)[1]["results"]) == 3
    for budget in (*others, foreign):
        assert api("GET", f"{BUDGETS}{budget}/")[0] == 404
    for method in ("PATCH", "DELETE"):
        status, problem = api(method, f"{BUDGETS}{own}/", {"limit": "9"})
        assert (status, problem["code"]) == (403, "forbidden")
    assert Api(tenant.olga)("PATCH", f"{BUDGETS}{foreign}/", {"limit": "9"})[0] == 404
    assert rows("SELECT amount FROM budgets WHERE id = %(id)s", id=own)[0]["amount"] == 1


def test_usage_is_added_up_alike_in_json_and_csv_to_the_last_digit(tenant: Cast) -> None:
    for cost in ("0.0000015", "0.1", None):
        use(tenant, tenant.alice, cost)
    use(tenant, tenant.bob, "2", model="openai/gpt-4o", estimated=True)
    api = Api(tenant.olga)
    status, found = api("GET", f"{USAGE}?by=user&by=model")
    assert status == 200, found
    listed = [(row["names"]["user"], row["of"]["model"], row["requests"], row["cost"]) for row in found["rows"]]
    assert listed == [
        (tenant.bob.username, "openai/gpt-4o", 1, "2.000000"),
        (tenant.alice.username, "openai/gpt-4o-mini", 3, "0.100002"),
    ]
    assert (found["whole"]["cost"], found["whole"]["unpriced"], found["whole"]["estimated"]) == ("2.100002", 1, 1)
    status, text = api("GET", "/api/v1/usage.csv?by=user&by=model")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [(line["user_name"], line["model"], int(line["requests"]), line["cost"]) for line in lines] == listed


def test_no_cell_of_the_csv_is_a_formula(tenant: Cast) -> None:
    formulas = ["=1+1", "  =1+1", "＝1+1", '"=1+1', "|calc", "a\n=1+1"]
    for model in formulas:
        use(tenant, tenant.alice, model=model)
    _, text = Api(tenant.olga)("GET", "/api/v1/usage.csv?by=model")
    found = {line["model"] for line in csv.DictReader(io.StringIO(text, newline=""))}
    assert found == {f"'{model}" for model in formulas[:-1]} | {"a\n'=1+1"}


def test_usage_by_tool_shares_the_cost_of_a_turn_among_its_calls(tenant: Cast) -> None:
    use(tenant, tenant.alice, "0.3", tools=json.dumps(["web_search", "web_search", "save_note"]))
    use(tenant, tenant.alice, "1")
    found = Api(tenant.olga)("GET", f"{USAGE}?by=tool")[1]
    listed = [(row["of"]["tool"], row["requests"], row["cost"]) for row in found["rows"]]
    assert listed == [("web_search", 2, "0.200000"), ("save_note", 1, "0.100000")]
    assert found["whole"]["cost"] == "1.300000"


def test_usage_by_day_is_of_the_days_that_are_asked_for(tenant: Cast) -> None:
    now = datetime.now(UTC)
    for days in (0, 1, 40):
        use(tenant, tenant.alice, "1", at=now - timedelta(days=days))
    api = Api(tenant.olga)
    days = [(now - timedelta(days=back)).date().isoformat() for back in (1, 0)]
    assert [row["of"]["day"] for row in api("GET", f"{USAGE}?by=day")[1]["rows"]] == days
    found = api("GET", f"{USAGE}?by=day&since={days[0]}&until={days[1]}")[1]
    assert [row["of"]["day"] for row in found["rows"]] == days[:1]


def test_members_see_their_own_usage_and_nobody_sees_another_tenants(tenant: Cast, other_tenant: Cast) -> None:
    use(tenant, tenant.alice, "1")
    use(tenant, tenant.bob, "2")
    use(other_tenant, other_tenant.alice, "4")
    costs = {
        name: Api(getattr(tenant, name))("GET", USAGE)[1]["whole"]["cost"]
        for name in ("alice", "bob", "carol", "dana", "olga")
    }
    assert costs == {
        "alice": "1.000000",
        "bob": "2.000000",
        "carol": "0.000000",
        "dana": "3.000000",
        "olga": "3.000000",
    }


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("by=colour", "by"),
        ("since=yesterday", "since"),
        ("since=2026-11-02&until=2026-11-01", "since"),
        ("since=1900-01-01", "since"),
        ("until=0001-01-01", "until"),
    ],
)
def test_a_senseless_question_is_refused(tenant: Cast, query: str, field: str) -> None:
    status, problem = Api(tenant.olga)("GET", f"{USAGE}?{query}")
    assert (status, problem["code"], problem["field"]) == (400, "invalid_request", field)
