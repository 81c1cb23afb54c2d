"""`/settings/agents/`: owners make, change, try and archive agents on pages, through the functions of REST."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest

from gateway.runs.agents import changes
from tenants.scope import transactions
from tests.agents.asking import agents, ask, recorded, refusal, versions
from tests.database import rows
from tests.pages.browsing import InProcess, signed_in
from tests.people import Cast

PATH = "/settings/agents/"
FORM: dict[str, Any] = {
    "name": "Support", "instructions": "Be kind.\r\nBe brief.", "model": "", "max_tier": "workspace", "reach": "list",
    "tool": ["...", "save_note"], "max_turns": "5", "max_seconds": "60", "max_run_tokens": "250000",
    "max_run_usd": "0.25",
    "tool_seconds": "30",
    "max_result_bytes": "16384", "max_offered_tools": "", "pinned_tools": "save_note",
}  # fmt: skip


@pytest.fixture
def olga(tenant: Cast) -> InProcess:
    """An owner's browser; the tenant has an agent `support`."""
    with transactions.scope(*tenant.olga.scope):
        changes.add(tenant.id, {"slug": "support", "name": "Support", "tools": ["save_note"]})
    return signed_in(tenant.olga)


def _text(answer: Any) -> str:
    return str(answer.content.decode())


def test_an_agent_is_made_on_a_page_as_it_was_typed(tenant: Cast) -> None:
    olga = signed_in(tenant.olga)
    assert "Make the agent" in _text(olga.get(f"{PATH}-/new/"))
    answer = olga.post(f"{PATH}-/new/", FORM | {"slug": "support", "on_refused_approval": "on"})
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{PATH}support/")
    row = agents(tenant)["support"]
    said = {name: row[name] for name in ("name", "instructions", "model", "max_tier", "tools", "pinned_tools")}
    assert said == {
        "name": "Support", "instructions": "Be kind.\nBe brief.", "model": "", "max_tier": "workspace",
        "tools": ["...", "save_note"], "pinned_tools": ["save_note"],
    }  # fmt: skip
    assert (row["max_turns"], row["max_offered_tools"], row["on_refused_approval"]) == (5, None, "halt")
    assert (row["max_run_tokens"], row["max_run_usd"]) == (250_000, Decimal("0.25"))
    assert 'value="0.25"' in _text(olga.get(f"{PATH}support/"))
    assert versions(tenant, "support") == [(1, tenant.olga.principal.user_id, "page")]
    page = _text(olga.get(PATH))
    assert "support" in page and "version 1" in page
    # What limits it is said in the list, and not folded away in its form.
    for limit in ("US$0.25 a run", "250,000 tokens a run", "up to workspace"):
        assert f'<span class="faint">{limit}</span>' in page
    form = _text(olga.get(f"{PATH}support/"))
    assert "<details open>" in form
    assert "<details >" in _text(olga.get(f"{PATH}default/"))
    offered = re.findall(r'name="tool" value="([^"]+)" (checked)?', form)
    assert [name for name, _ in offered][:2] == ["...", "save_note"]
    assert all(chosen for _, chosen in offered[:2]) and not any(chosen for _, chosen in offered[2:])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"slug": "Support!"}, "slug must be up to 50"),
        ({"slug": "default"}, "There is an agent default already"),
        ({"max_turns": "many"}, "Turns of a run: a whole number from 1 to 200."),
        ({"max_run_usd": "much"}, "max_run_usd must be an amount of US dollars from 0 to 1,000,000,000,000"),
        ({"max_turns": "1000"}, "max_turns must be a whole number from 1 to 200."),
        ({"tool": ["no_such_tool"]}, "There is no tool"),
        ({"max_tier": "root"}, "max_tier must be one of"),
    ],
)
def test_what_makes_no_agent_is_said_and_what_was_typed_stays(tenant: Cast, wrong: Any, words: str) -> None:
    answer = signed_in(tenant.olga).post(f"{PATH}-/new/", FORM | {"slug": "support"} | wrong)
    page = _text(answer)
    assert answer.status_code in (400, 409)
    assert words in page and "Be brief." in page
    assert (set(agents(tenant)), recorded(tenant)) == ({"default"}, [])


def test_a_form_that_changes_nothing_makes_no_version(tenant: Cast, olga: InProcess) -> None:
    page = _text(olga.get(f"{PATH}support/"))
    assert 'name="version" value="1"' in page
    same = FORM | {
        "instructions": "", "max_tier": "", "tool": ["save_note"], "max_turns": "8", "max_seconds": "120",
        "max_run_tokens": "", "max_run_usd": "", "pinned_tools": "", "version": "1",
    }  # fmt: skip
    answer = olga.post(f"{PATH}support/", same, follow=True)
    assert "Nothing was different." in _text(answer)
    assert agents(tenant)["support"]["version"] == 1


def test_a_limit_of_tokens_from_before_that_is_too_low_today_can_stay_in_the_form(
    tenant: Cast, olga: InProcess
) -> None:
    before = "UPDATE agents SET max_run_tokens = 1000 WHERE tenant_id = %(t)s AND slug = 'support' RETURNING id"
    assert rows(before, t=tenant.id)
    page = _text(olga.get(f"{PATH}support/"))
    assert 'min="1000"' in page and "1,000 can stay, and is too few for any turn: at least 1,256 are of use" in page
    assert olga.post(f"{PATH}support/", FORM | {"version": "1", "max_run_tokens": "1000"}).status_code == 302
    assert (agents(tenant)["support"]["version"], agents(tenant)["support"]["max_run_tokens"]) == (2, 1_000)
    page = _text(olga.post(f"{PATH}support/", FORM | {"version": "2", "max_run_tokens": "1001"}))
    assert "max_run_tokens must be a whole number from 1,256 to 999,999,999." in page
    assert agents(tenant)["support"]["max_run_tokens"] == 1_000


def test_the_second_of_two_owners_is_shown_what_the_first_changed_and_loses_nothing(
    tenant: Cast, olga: InProcess
) -> None:
    ask(tenant.olga, "PATCH", "/api/v1/agents/support/", {"max_turns": 77})
    answer = olga.post(f"{PATH}support/", FORM | {"version": "1"})
    page = _text(answer)
    assert answer.status_code == 409
    assert "Somebody changed it while you did" in page
    assert tenant.olga.username in page and "77" in page
    assert "Be brief." in page and 'name="version" value="2"' in page
    assert agents(tenant)["support"]["max_turns"] == 77
    assert olga.post(f"{PATH}support/", FORM | {"version": "2"}).status_code == 302
    assert agents(tenant)["support"]["max_turns"] == 5


def test_a_version_is_taken_back_on_its_page(tenant: Cast, olga: InProcess) -> None:
    olga.post(f"{PATH}support/", FORM | {"version": "1"})
    page = _text(olga.get(f"{PATH}support/versions/"))
    assert "Take version 1 back" in page and "Be kind." in page and "Take version 2 back" not in page
    stale = olga.post(f"{PATH}support/versions/1/", {"version": "1"}, follow=True)
    assert "Nothing was changed" in _text(stale)
    taken = olga.post(f"{PATH}support/versions/1/", {"version": "2"}, follow=True)
    assert "Version 1 is taken back, as version 3." in _text(taken)
    assert agents(tenant)["support"]["instructions"] == ""


def test_an_agent_is_archived_and_taken_back_and_the_default_one_is_not(tenant: Cast, olga: InProcess) -> None:
    assert "support is archived." in _text(olga.post(f"{PATH}support/archive/", follow=True))
    assert "1 archived" in _text(olga.get(PATH))
    assert 'id="test-form"' not in _text(olga.get(f"{PATH}support/"))
    olga.post(f"{PATH}support/archive/", {"back": "1"})
    assert agents(tenant)["support"]["archived_at"] is None
    refused = olga.post(f"{PATH}default/archive/", follow=True)
    assert "Make another one the default" in _text(refused)
    assert agents(tenant)["default"]["archived_at"] is None


def test_versions_are_shown_page_by_page(tenant: Cast, olga: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.web.agents import pages

    monkeypatch.setattr(pages, "_PAGE", 2)
    for number in (1, 2):
        olga.post(f"{PATH}support/", FORM | {"max_turns": str(number), "version": str(number)})
    newest = _text(olga.get(f"{PATH}support/versions/"))
    assert "Version 3" in newest and "Version 1</h3>" not in newest and "Page 1 of 2" in newest
    # The last of a page is compared with what the next page begins with.
    assert "the first one that is known" not in newest and "Be kind." in newest
    oldest = _text(olga.get(f"{PATH}support/versions/?page=2"))
    assert "Version 1</h3>" in oldest and "the first one that is known" in oldest and "Version 2</h3>" not in oldest


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_nobody_but_owners_sees_or_changes_an_agent(tenant: Cast, olga: InProcess, who: str) -> None:
    browser = signed_in(getattr(tenant, who))
    before = (agents(tenant), recorded(tenant))
    for path in (PATH, f"{PATH}-/new/", f"{PATH}support/", f"{PATH}support/versions/"):
        assert browser.get(path).status_code == 403
    for path in (f"{PATH}-/new/", f"{PATH}support/", f"{PATH}support/versions/1/", f"{PATH}support/archive/"):
        assert browser.post(path, FORM | {"slug": "mine", "version": "1"}).status_code == 403
    assert (agents(tenant), recorded(tenant)) == before


def test_another_tenants_agent_is_not_there(other_tenant: Cast, tenant: Cast, olga: InProcess) -> None:
    theirs = signed_in(other_tenant.olga)
    for path in (f"{PATH}support/", f"{PATH}support/versions/"):
        assert theirs.get(path).status_code == 404
    for path in (f"{PATH}support/", f"{PATH}support/versions/1/", f"{PATH}support/archive/"):
        assert theirs.post(path, FORM).status_code == 404
    assert agents(tenant)["support"]["version"] == 1


def _try(browser: InProcess, **body: Any) -> Any:
    return browser.post("/api/v1/agents/support/test/", json.dumps(body), "application/json")


def test_a_draft_is_tried_with_its_own_fields_through_the_same_gates_and_not_saved(
    tenant: Cast, olga: InProcess
) -> None:
    call = 'call: add_task {"title": "Call the bank"}'
    refused = _try(olga, content=call).json()
    assert [each["error"]["code"] for each in refused["tool_calls"]] == ["not_allowed"]
    draft = {"tools": ["add_task"], "max_tier": "read_only", "instructions": "Be brief."}
    capped = _try(olga, content=call, draft=draft).json()
    assert [each["error"]["code"] for each in capped["tool_calls"]] == ["permission_denied"]
    [row] = rows("SELECT profile FROM runs WHERE id = %(r)s", r=capped["run_id"])
    profile = row["profile"]
    assert (profile["slug"], profile["draft"], profile["instructions"]) == ("support", True, "Be brief.")
    assert len(rows("SELECT id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)) == 2
    assert (agents(tenant)["support"]["tools"], len(recorded(tenant))) == (["save_note"], 1)


@pytest.mark.parametrize("draft", [[], {"tools": ["no_such_tool"]}, {"max_turns": 0}, {"slug": "x"}, "all"])
def test_a_draft_that_is_none_begins_nothing(tenant: Cast, olga: InProcess, draft: Any) -> None:
    assert _try(olga, content="hello", draft=draft).status_code == 400
    assert rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_only_owners_try_drafts(tenant: Cast, olga: InProcess) -> None:
    answer = _try(signed_in(tenant.alice), content="hello", draft={"tools": "all"})
    assert refusal(answer)[:2] == (403, "forbidden")
    assert rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == []
