"""A run's timeline: who sees it, what is in it, what it reads, and that reading another's leaves a trace."""

import json
import re
import uuid
from typing import Any

import httpx
import pytest

from tests.approvals.api import decide
from tests.database import rows
from tests.gateway.runs.replays import ended
from tests.pages.test_history import queries_of, signed_in
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import until

SECRET = "My secret is 4711."
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi"}'
RUN = f'{SECRET}\ncall: save_note {{"title": "a", "content": "b"}}\ncall: list_tasks {{}}\nthen:\ncall: rm_rf {{}}'


def _said(stack: Stack, person: Person, content: str) -> dict[str, Any]:
    body: dict[str, Any] = stack.chat(person, content).json()
    return body


def _page(person: Person, run_id: object, **headers: str) -> str:
    answer = signed_in(person).get(f"/history/runs/{run_id}/", headers=headers)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def _lines(page: str) -> list[str]:
    """The first column."""
    cells = re.findall(r'<th role="rowheader" scope="row">(.*?)</th>', page)
    return [" ".join(re.sub("<[^>]+>", "", cell).split()) for cell in cells]


def _outcomes(page: str) -> list[str]:
    found = re.findall(r'<td role="cell"> <span class="pill".*?</svg>(.*?)</span>', page)
    return [str(each) for each in found]


def test_the_run_is_shown_turn_by_turn(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant.alice, RUN)
    page = _page(tenant.alice, body["run_id"])
    model = ", the model's answer"
    assert _lines(page) == [f"Turn 1{model}", "save_note", "list_tasks", f"Turn 2{model}", "rm_rf", f"Turn 3{model}"]
    assert _outcomes(page) == ["Answered", "Done", "Done", "Answered", "Not allowed", "Answered"]
    for call in body["tool_calls"]:
        assert f'href="/history/{call["id"]}/"' in page
    assert "I will use save_note and list_tasks." in page
    assert "3 of 8" in page
    assert "hx-get" not in page
    assert "style=" not in page
    assert len(page.encode()) < 100_000


def test_a_run_and_the_one_that_it_began_lead_to_each_other(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant.alice, 'call: subagent {"task": "Hello."}')
    [call] = body["tool_calls"]
    page = _page(tenant.alice, body["run_id"])
    assert f'<a href="/history/runs/{call["output"]["run_id"]}/">The run that it began</a>' in page
    assert "waited for the run that it began" in page and "Runs that it began" in page
    below = _page(tenant.alice, call["output"]["run_id"])
    assert f'<a href="/history/runs/{body["run_id"]}/">Another run</a>' in below
    chat = signed_in(tenant.alice).get(f"/?c={_conversation(call['output']['run_id'])}").content.decode()
    assert f'<a href="/?c={body["conversation_id"]}">another conversation</a> began this one.' in chat


def test_the_runs_below_are_in_the_picture_behind_the_calls_that_began_them(stack: Stack, tenant: Cast) -> None:
    workers = ['call: list_tasks {}\nthen:\ncall: save_note {"title": "a", "content": "b"}', f"{SECRET}\n{MAIL}"]
    asked = "\n".join(f"call: subagent {json.dumps({'task': task})}" for task in workers)
    body = _said(stack, tenant.alice, asked)
    assert body["status"] == "requires_action"
    ended = "SELECT id FROM runs WHERE parent_run_id = %(r)s AND status = 'completed'"
    until(lambda: rows(ended, r=body["run_id"]))
    until(lambda: rows("SELECT id FROM runs WHERE id = %(r)s AND status = 'waiting'", r=body["run_id"]))
    page, model = _page(tenant.alice, body["run_id"]), ", the model's answer"
    below = f"{model}, in the run that the call began"
    assert _lines(page) == [
        *(f"Turn 1{model}", "subagent", f"Turn 1{below}", "list_tasks", f"Turn 2{below}", "save_note"),
        *(f"Turn 3{below}", "subagent", f"Turn 1{below}", "send_email"),
    ]
    assert _outcomes(page)[-3:] == ["Waits for its run", "Answered", "Waiting for approval"]
    # The run itself waits for another, and all of them for a human.
    assert re.search(r'<h1>Timeline of a run</h1> <span class="pill"[^>]*>.*?</svg>Waits for a human</span>', page)
    assert "<small>default: completed</small>" in page and "<small>default: waits for a human</small>" in page
    assert page.count("waited for a human for ") == 1 and page.count("waited for the run that it began for ") == 2
    assert page.count('class="call below below-1"') == 3
    # Nor does the call's own page say that it is at work.
    [begun] = rows(
        "SELECT id, waits_on_run FROM tool_calls WHERE run_id = %(r)s AND status = 'running'", r=body["run_id"]
    )
    alone = signed_in(tenant.alice).get(f"/history/{begun['id']}/").content.decode()
    assert "Waits for its run" in alone and "Waits for the run that it began." in alone and "Runs now" not in alone
    assert f'<a href="/history/runs/{begun["waits_on_run"]}/">Its timeline</a>' in alone
    # Whoever reads the tenant's history sees calls and times, and nothing that was said.
    others = _page(tenant.dana, body["run_id"])
    assert [line for line in _lines(others) if "Turn" not in line] == [
        *("subagent", "list_tasks", "save_note", "subagent", "send_email")
    ]
    assert "I will use" in page and "I will use" not in others
    with (
        queries_of('FROM "runs"') as runs,
        queries_of('FROM "turns"') as turns,
        queries_of('FROM "tool_calls"') as calls,
    ):
        _page(tenant.alice, body["run_id"])
    assert (len(runs), len(turns), len(calls)) == (2, 2, 2)


def _conversation(run_id: str) -> object:
    return rows("SELECT conversation_id FROM runs WHERE id = %(r)s", r=run_id)[0]["conversation_id"]


def test_each_line_says_in_words_what_its_bars_show(stack: Stack, tenant: Cast) -> None:
    page = _page(tenant.alice, _said(stack, tenant.alice, RUN)["run_id"])
    said = re.findall(r'<span class="unseen">((?:from|at) [^<]+)</span>', page)
    assert len(said) == 6
    assert re.fullmatch(r"from [^:]+ on: the model for .+", said[0])
    assert re.fullmatch(r"from [^:]+: (waited for .+, then )*ran for .+", said[1])
    assert re.fullmatch(r"at .+", said[4])


def test_others_runs_are_not_found(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    run_id = _said(stack, tenant.alice, RUN)["run_id"]
    for stranger in (tenant.bob, tenant.carol, other_tenant.alice, other_tenant.dana, other_tenant.olga):
        assert signed_in(stranger).get(f"/history/runs/{run_id}/").status_code == 404
    assert signed_in(tenant.alice).get(f"/history/runs/{uuid.uuid4()}/").status_code == 404
    assert rows("SELECT 1 AS it FROM history_reads WHERE tenant_id = ANY(%(t)s)", t=[tenant.id, other_tenant.id]) == []


@pytest.mark.parametrize("reader", ["dana", "olga"])
def test_auditors_and_owners_see_calls_and_times_and_no_text_and_leave_a_trace(
    stack: Stack, tenant: Cast, reader: str
) -> None:
    body = _said(stack, tenant.alice, RUN)
    page = _page(getattr(tenant, reader), body["run_id"])
    assert len(_lines(page)) == 6
    assert _outcomes(page) == ["Answered", "Done", "Done", "Answered", "Not allowed", "Answered"]
    assert tenant.alice.username in page
    assert "4711" not in page
    assert "I will use" not in page
    (read,) = rows("SELECT * FROM history_reads WHERE tenant_id = %(t)s", t=tenant.id)
    person = getattr(tenant, reader)
    assert (read["reader_id"], read["user_id"]) == (person.scope.user_id, tenant.alice.scope.user_id)
    assert (read["action"], read["via"], read["calls"]) == ("run", "page", 3)
    assert read["filters"] == {"run": body["run_id"]}


def test_ones_own_run_leaves_no_trace(stack: Stack, tenant: Cast) -> None:
    _page(tenant.alice, _said(stack, tenant.alice, RUN)["run_id"])
    assert rows("SELECT 1 AS it FROM history_reads WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_a_deleted_conversations_run_is_shown_from_its_calls(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant.alice, RUN)
    url = f"{stack.url}/api/v1/conversations/{body['conversation_id']}/"
    assert httpx.delete(url, headers=tenant.alice.headers).status_code == 204
    page = _page(tenant.alice, body["run_id"])
    model = ", the model's answer"
    assert _lines(page) == [f"Turn 1{model}", "save_note", "list_tasks", f"Turn 2{model}", "rm_rf"]
    assert "The conversation of this run was deleted." in page
    assert signed_in(tenant.bob).get(f"/history/runs/{body['run_id']}/").status_code == 404


def test_a_run_that_waits_asks_for_itself_until_it_is_over(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, MAIL).json()
    url = f"/history/runs/{body['run_id']}/"
    page = _page(tenant.alice, body["run_id"], **{"HX-Request": "true"})
    assert page.startswith('<div id="timeline"')
    assert f'hx-get="{url}" hx-trigger="every 2s" hx-swap="outerHTML"' in page
    assert "Waits for a human" in page
    assert _outcomes(page) == ["Answered", "Waiting for approval"]
    assert "waited for a human for" in page
    request = uuid.UUID(body["required_action"]["approvals"][0]["id"])
    assert decide(stack, tenant.carol, request, "approve").status_code == 200
    ended(stack, tenant.alice, body["run_id"])
    page = _page(tenant.alice, body["run_id"], **{"HX-Request": "true"})
    assert "hx-get" not in page
    assert _outcomes(page) == ["Answered", "Done", "Answered"]


@pytest.mark.parametrize(("reader", "to_turns"), [("alice", 1), ("dana", 0)])
def test_it_reads_each_table_once_however_long_the_run_is(
    stack: Stack, tenant: Cast, reader: str, to_turns: int
) -> None:
    short = f"{MAIL}\ncall: list_tasks {{}}"
    for content in (short, "\nthen:\n".join(["call: list_tasks {}"] * 5 + [short])):
        run_id = stack.chat(tenant.alice, content).json()["run_id"]
        with (
            queries_of('FROM "runs"') as runs,
            queries_of('FROM "turns"') as turns,
            queries_of('FROM "tool_calls"') as calls,
            queries_of('"approval_requests"."decided_at"') as requests,
        ):
            _page(getattr(tenant, reader), run_id)
        assert (len(runs), len(turns), len(calls), len(requests)) == (1, to_turns, 1, 1)
        assert '"output"' not in calls[0] and '"row_key"' not in calls[0] and '"input"' not in calls[0]
        assert '"id" >= ' in calls[0] and '"id" < ' in calls[0]


def test_a_run_of_very_many_calls_is_a_page_all_the_same(stack: Stack, tenant: Cast) -> None:
    body = _said(stack, tenant.alice, "\n".join(["call: rm_rf {}"] * 150))
    page = _page(tenant.alice, body["run_id"])
    assert "Only the first 80 calls are drawn." in page
    assert len(page.encode()) < 100_000
