"""`/settings/retention/`: how long an owner's tenant keeps payloads."""

from tests.database import rows
from tests.pages.browsing import confirmed, signed_in
from tests.people import PASSWORD, Cast, make_tenant

PAGE = "/settings/retention/"


def days(tenant: Cast) -> int | None:
    [row] = rows("SELECT retention_days FROM tenants WHERE id = %(t)s", t=tenant.id)
    found: int | None = row["retention_days"]
    return found


def test_an_owner_says_how_long_payloads_are_kept(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    assert "Kept for ever" in browser.get(PAGE).content.decode()
    assert browser.post(PAGE, {"days": "90"})["Location"] == PAGE
    page = browser.get(PAGE).content.decode()
    assert "Payloads are kept for 90 days now." in page and "Kept for 90 days" in page
    assert browser.post(PAGE, {"days": ""})["Location"] == PAGE
    assert days(tenant) is None
    recorded = rows("SELECT changes FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [row["changes"] for row in recorded] == [{"retention_days": [None, 90]}, {"retention_days": [90, None]}]


def test_what_makes_no_sense_is_said_and_changes_nothing(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    for wrong in ("0", "-1", "36501", "1e3", "9" * 5000, "many"):
        answer = browser.post(PAGE, {"days": wrong})
        assert (answer.status_code, 'class="note wrong"' in answer.content.decode()) == (400, True)
    assert days(tenant) is None


def test_shortening_asks_for_the_password_after_a_while_and_lengthening_does_not() -> None:
    tenant = make_tenant(PASSWORD)
    assert signed_in(tenant.olga).post(PAGE, {"days": "90"}).status_code == 302
    browser = signed_in(tenant.olga, seconds_ago=3600)
    assert browser.post(PAGE, {"days": "120"})["Location"] == PAGE
    asked = browser.post(PAGE, {"days": "5"})
    assert (asked.status_code, days(tenant)) == (403, 120)
    assert confirmed(browser, asked, PAGE)["Location"] == PAGE
    assert days(tenant) == 5
