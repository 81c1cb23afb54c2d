"""Reading other people's calls leaves a row and an entry; reading one's own, or the same list again, leaves nothing."""

import uuid
from typing import Any

import pytest
from django.db import connections
from django.db.utils import ProgrammingError
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.calls import ledger
from audit.history import reads
from audit.models import HistoryRead, ToolCall
from tenants.models import User
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack


def _calls(*people: Person) -> list[ToolCall]:
    return [ToolCall(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id) for person in people]


def _look(reader: Person, *people: Person, action: str = "list", **more: Any) -> None:
    with transactions.scope(*reader.scope):
        reads.of_calls(reader_id=reader.scope.user_id, calls=_calls(*people), action=action, via="page", **more)


def _readings(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM history_reads WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


def _entries(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM ledger_entries WHERE tenant_id = %(t)s ORDER BY seq", t=tenant.id)


def test_each_person_whose_calls_are_shown_gets_a_row_that_an_entry_vouches_for(tenant: Cast) -> None:
    _look(tenant.dana, tenant.alice, tenant.bob, tenant.alice, tenant.dana, filters={"tool": "save_note", "user": None})
    readings = _readings(tenant)
    assert {(each["user_id"], each["calls"]) for each in readings} == {
        (tenant.alice.scope.user_id, 2),
        (tenant.bob.scope.user_id, 1),
    }
    assert {(each["reader_id"], each["action"], each["via"], each["call_id"]) for each in readings} == {
        (tenant.dana.scope.user_id, "list", "page", None)
    }
    assert all(each["filters"] == {"tool": "save_note"} for each in readings)
    entries = {entry["record_id"]: entry for entry in _entries(tenant)}
    assert set(entries) == {each["id"] for each in readings}
    for each in readings:
        entry = entries[each["id"]]
        assert (entry["kind"], entry["version"], entry["call_id"]) == ("read", ledger.VERSION, None)
        assert ledger.commitment(each["row_key"], ledger.read(each)) == entry["commitment"]


def test_reading_ones_own_leaves_nothing_and_asks_nothing(tenant: Cast) -> None:
    with CaptureQueriesContext(connections["default"]) as sent:
        reads.of_calls(
            reader_id=tenant.olga.scope.user_id, calls=_calls(tenant.olga, tenant.olga), action="list", via="page"
        )
        reads.of_calls(reader_id=tenant.olga.scope.user_id, calls=[], action="list", via="page")
    assert len(sent) == 0
    assert _readings(tenant) == _entries(tenant) == []


def test_a_record_costs_one_statement_however_many_people_are_shown(tenant: Cast) -> None:
    with transactions.scope(*tenant.dana.scope), CaptureQueriesContext(connections["default"]) as sent:
        reads.of_calls(
            reader_id=tenant.dana.scope.user_id,
            calls=_calls(tenant.alice, tenant.bob, tenant.carol, tenant.olga),
            action="list",
            via="api",
        )
    assert len(sent) == 1
    assert len(_readings(tenant)) == len(_entries(tenant)) == 4


def test_the_same_list_again_is_the_same_look_and_new_people_on_its_next_page_are_not(tenant: Cast) -> None:
    _look(tenant.dana, tenant.alice, filters={"tool": "save_note"})
    _look(tenant.dana, tenant.alice, filters={"tool": "save_note"})
    _look(tenant.dana, tenant.alice, tenant.bob, filters={"tool": "save_note"})
    assert [each["user_id"] for each in _readings(tenant)] == [tenant.alice.scope.user_id, tenant.bob.scope.user_id]
    # Another list, another reader, another way of looking.
    _look(tenant.dana, tenant.alice, filters={"tool": "add_task"})
    _look(tenant.olga, tenant.alice, filters={"tool": "save_note"})
    _look(tenant.dana, tenant.alice, action="charts", filters={"tool": "save_note"})
    call = uuid.uuid4()
    for _ in range(2):
        _look(tenant.dana, tenant.alice, action="detail", call_id=call)
    assert len(_readings(tenant)) == len(_entries(tenant)) == 6
    assert _readings(tenant)[-1]["call_id"] == call


def test_ten_minutes_later_it_is_another_look(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    _look(tenant.dana, tenant.alice)
    monkeypatch.setattr(reads, "SAME_LOOK", -reads.SAME_LOOK)
    _look(tenant.dana, tenant.alice)
    assert len(_readings(tenant)) == 2


def test_every_export_is_on_record(tenant: Cast) -> None:
    for _ in range(2):
        with transactions.scope(*tenant.dana.scope):
            reads.record(reader_id=tenant.dana.scope.user_id, shown={(tenant.id, None): 0}, action="export", via="api")
    assert [(each["user_id"], each["calls"]) for each in _readings(tenant)] == [(None, 0)] * 2


def test_an_operator_is_on_record_in_each_tenant_whose_calls_are_shown(tenant: Cast, other_tenant: Cast) -> None:
    operator = tenant.olga.scope.user_id
    with on_login("operator"):
        calls = _calls(tenant.alice, other_tenant.alice, other_tenant.bob)
        reads.of_calls(reader_id=operator, calls=calls, action="list", via="admin")
    assert [(each["reader_id"], each["via"]) for each in _readings(tenant)] == [(operator, "admin")]
    assert [(each["reader_id"], each["via"]) for each in _readings(other_tenant)] == [(operator, "admin")] * 2
    assert len(_entries(tenant)) == 1 and len(_entries(other_tenant)) == 2


def test_a_command_has_no_reader_and_is_always_on_record(tenant: Cast) -> None:
    for _ in range(2):
        with on_login("operator"):
            reads.record(reader_id=None, shown={(tenant.id, None): 7}, action="run", via="command")
    assert [(each["reader_id"], each["calls"]) for each in _readings(tenant)] == [(None, 7)] * 2


def test_what_postgresql_cannot_keep_is_kept_without_it(tenant: Cast) -> None:
    _look(tenant.dana, tenant.alice, filters={"q": "a\x00b\ud800", "limit": 5})
    [reading] = _readings(tenant)
    assert reading["filters"] == {"q": "a�b?", "limit": "5"}
    assert [entry["commitment"] for entry in _entries(tenant)] == [
        ledger.commitment(reading["row_key"], ledger.read(reading))
    ]


def test_without_a_record_nothing_is_shown(tenant: Cast, other_tenant: Cast) -> None:
    with pytest.raises(ProgrammingError, match="row-level security"), transactions.scope(*tenant.dana.scope):
        reads.of_calls(reader_id=tenant.dana.scope.user_id, calls=_calls(other_tenant.alice), action="list", via="page")
    assert _readings(tenant) == _readings(other_tenant) == []


@pytest.mark.parametrize("login", ["default", "operator", "system"])
def test_nobody_changes_or_deletes_a_reading(tenant: Cast, login: str) -> None:
    _look(tenant.dana, tenant.alice)
    for change in ("UPDATE history_reads SET calls = 0", "DELETE FROM history_reads"):
        with connections[login].cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"):
            cursor.execute(change)
    assert [each["calls"] for each in _readings(tenant)] == [1]


def test_the_last_ten_minutes_are_found_by_the_readers_index(tenant: Cast) -> None:
    _look(tenant.dana, tenant.alice)
    with transactions.scope(*tenant.dana.scope), connections["default"].cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT 1 FROM history_reads WHERE tenant_id = %s AND reader_id = %s AND id >= %s",
            [tenant.id, tenant.dana.scope.user_id, HistoryRead.objects.latest("id").id],
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "history_reads_of_reader" in plan


# --- where calls are shown -------------------------------------------------------------------------------------------
NOTE = 'call: save_note {"title": "a", "content": "b"}'


def _seen(tenant: Cast) -> set[tuple[uuid.UUID | None, uuid.UUID | None, str, str, uuid.UUID | None]]:
    return {
        (each["reader_id"], each["user_id"], each["action"], each["via"], each["call_id"]) for each in _readings(tenant)
    }


def _everywhere(client: Client, call: str, **headers: Any) -> None:
    """Look at the call in each way that the API and the pages have, twice."""
    api, pages = f"/api/v1/tool-calls/{call}/", f"/history/{call}/"
    for path in (*("/api/v1/tool-calls/", api, f"{api}receipt/"), *("/history/", pages)) * 2:
        if path.startswith("/api/") == ("headers" in headers):
            assert client.get(path, **headers).status_code == 200, path


def test_every_way_to_anothers_call_is_on_record_and_none_to_ones_own(stack: Stack, tenant: Cast) -> None:
    call = stack.chat(tenant.alice, NOTE).json()["tool_calls"][0]["id"]
    for person in (tenant.alice, tenant.dana, tenant.olga):
        _everywhere(Client(), call, headers=person.headers)
        client = Client()
        client.cookies["sessionid"] = session_of(person)
        _everywhere(client, call)
        assert client.get("/history/live/").status_code in (200, 204)
    whose, one = tenant.alice.scope.user_id, uuid.UUID(call)
    assert _seen(tenant) == {
        (reader, user, action, via, at)
        for reader in (tenant.dana.scope.user_id, tenant.olga.scope.user_id)
        for user, action, via, at in (
            (whose, "list", "api", None),
            (whose, "detail", "api", one),
            (whose, "receipt", "api", one),
            (whose, "list", "page", None),
            (whose, "detail", "page", one),
        )
    }
    # Everything was looked at twice, and is on record once.
    assert len(_readings(tenant)) == len(_seen(tenant)) == 10


def test_a_superuser_in_the_admin_is_on_record_where_the_calls_are(
    stack: Stack, tenant: Cast, other_tenant: Cast
) -> None:
    mine, theirs = (
        stack.chat(person, NOTE).json()["tool_calls"][0]["id"] for person in (tenant.olga, other_tenant.alice)
    )
    operator = tenant.olga.scope.user_id
    with on_login("operator"):
        User.objects.filter(pk=operator).update(is_staff=True, is_superuser=True)
    client = Client()
    client.cookies["sessionid"] = session_of(tenant.olga)
    for path in ("", f"?tenant__id__exact={other_tenant.id}", f"{mine}/change/", f"{theirs}/change/"):
        assert client.get(f"/admin/audit/toolcall/{path}").status_code == 200, path
    assert _seen(tenant) == set()
    whose = other_tenant.alice.scope.user_id
    assert _seen(other_tenant) == {
        (operator, whose, "list", "admin", None),
        (operator, whose, "detail", "admin", uuid.UUID(theirs)),
    }
