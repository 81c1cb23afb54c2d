"""`/settings/spend/`: the same numbers as the API, and budgets by owners only."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from gateway.budgets import usage
from gateway.budgets.usage import Used
from gateway.web.spend import drawing
from tenants.scope import transactions
from tests.budgets.rows import make_budget
from tests.budgets.test_rest import Api, use
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast

PAGE = "/settings/spend/"


def text(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_the_page_shows_what_the_api_says(tenant: Cast) -> None:
    use(tenant, tenant.alice, "12.3456")
    use(tenant, tenant.bob, "0.000105")
    use(tenant, tenant.bob, None, model="mine/unknown")
    answer = signed_in(tenant.olga).get(f"{PAGE}?by=user")
    assert answer.status_code == 200
    shown = text(answer)
    assert "Spent US$12.35" in shown
    assert f"{tenant.alice.username} US$12.35" in shown
    assert f"{tenant.bob.username} US$0.000105 1 without a price" in shown
    assert answer.content.decode().count('<rect class="succeeded"') >= 30
    found = Api(tenant.olga)("GET", "/api/v1/usage/?by=user")[1]
    assert found["whole"]["cost"] == "12.345705"


@pytest.mark.parametrize("by", usage.BY)
def test_what_is_read_at_once_by_day_and_by_something_more_is_what_each_says_alone(tenant: Cast, by: str) -> None:
    for person, cost in ((tenant.alice, "1.5"), (tenant.alice, "0.000000000000000001"), (tenant.bob, "2"), (None, "7")):
        use(tenant, person or tenant.alice, cost)
    use(tenant, tenant.bob, None, model="mine/unknown", at="2000-01-02T00:00:00Z")
    alone = usage.Asked.read([by], "2000-01-01", "2004-01-01")
    for principal in (tenant.olga.principal, tenant.bob.principal):
        for asked in (usage.Asked.read([by], "", ""), alone):
            with transactions.scope(*tenant.olga.scope):
                days, found = usage.by_day_and(principal, by, asked)
                assert days == usage.used(principal, usage.Asked(("day",), asked.since, asked.until))
                assert found == usage.used(principal, asked)


def test_more_rows_than_a_table_shows_are_refused_with_the_days_below(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(tenant, tenant.alice, "1")
    use(tenant, tenant.bob, "2")
    monkeypatch.setattr(usage, "MOST_ROWS", 1)
    answer = signed_in(tenant.olga).get(f"{PAGE}?by=user")
    assert answer.status_code == 400
    assert "Ask for a shorter time, or for less." in text(answer)
    assert "Spent US$3.00" in text(answer)


def test_a_member_sees_only_what_is_their_own(tenant: Cast) -> None:
    use(tenant, tenant.alice, "1")
    use(tenant, tenant.bob, "2")
    make_budget(tenant, 77)
    make_budget(tenant, 5, "usd", "day", user_id=tenant.alice.scope.user_id)
    shown = text(signed_in(tenant.alice).get(f"{PAGE}?by=user"))
    assert "Spent US$1.00" in shown
    assert "US$5.00 in a day" in shown
    assert tenant.bob.username not in shown
    assert "US$77" not in shown
    assert "New budget" not in shown


def test_an_owner_sets_changes_and_ends_a_budget(tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    given = {"scope": f"user:{tenant.alice.scope.user_id}", "limit": " 2.50 ", "unit": "usd", "window": "month"}
    answer = client.post(f"{PAGE}budgets/", given, follow=True)
    assert "The budget of US$2.50 in a month is set." in text(answer)
    assert f"Person {tenant.alice.username}: US$2.50 in a month" in text(answer)
    [budget] = rows("SELECT * FROM budgets WHERE tenant_id = %(id)s", id=tenant.id)
    assert (budget["user_id"], budget["amount"]) == (tenant.alice.scope.user_id, Decimal("2.5"))
    answer = client.post(f"{PAGE}budgets/{budget['id']}/", {"limit": "minus one"})
    assert (answer.status_code, "limit must be a number, 0 or more." in text(answer)) == (400, True)
    assert "US$3.00 in a month now" in text(client.post(f"{PAGE}budgets/{budget['id']}/", {"limit": "3"}, follow=True))
    client.post(f"{PAGE}budgets/{budget['id']}/end/")
    assert rows("SELECT id FROM budgets WHERE tenant_id = %(id)s", id=tenant.id) == []


def test_a_senseless_filter_is_said_and_the_page_still_shown(tenant: Cast) -> None:
    answer = signed_in(tenant.olga).get(f"{PAGE}?by=colour&since=never")
    assert answer.status_code == 400
    assert "by must be day, user" in text(answer)
    assert "New budget" in text(answer)


def _day(day: str, cost: str) -> Used:
    return Used({"day": day}, {}, 1, 1, 1, 0, Decimal(cost), 0, 0)


def test_the_picture_has_a_bar_for_each_day_under_a_round_scale() -> None:
    picture = drawing.by_day([_day("2026-11-02", "30")], date(2026, 11, 1), date(2026, 11, 4))
    assert picture is not None
    assert (picture.top, picture.half) == ("US$50.00", "US$25.00")
    assert [bar.height for bar in picture.bars] == [0, 60, 0, 0]
    assert picture.bars[1].words == "2 November 2026: US$30.00"


@pytest.mark.parametrize(
    ("amount", "said"),
    [("0", "US$0.00"), ("0.000105", "US$0.000105"), ("0.1", "US$0.10"), ("1234.5", "US$1,234.50")],
)
def test_amounts_are_said_to_the_digit_that_matters(amount: str, said: str) -> None:
    assert drawing.dollars(Decimal(amount)) == said
