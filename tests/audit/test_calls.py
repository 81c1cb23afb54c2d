"""Lists of calls: what each filter and every word finds, for whom, in which order, page by page."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from psycopg.types.json import Jsonb

from audit.history import calls
from audit.history.calls import Filters
from audit.models import ErrorCode, Status, ToolCall
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.people import Cast, Person


def at(moment: datetime) -> uuid.UUID:
    """A UUIDv7 of that moment."""
    return uuid.UUID(int=int(moment.timestamp() * 1000) << 80 | 7 << 76 | uuid.uuid4().int & (1 << 76) - 1)


def written(person: Person, age: timedelta = timedelta(0), **given: Any) -> uuid.UUID:
    """A call of that age, a success unless said otherwise, written past row-level security; its id."""
    moment = datetime.now(UTC) - age
    status = given.get("status", "success")
    row = {
        "id": at(moment), "tenant_id": person.scope.tenant_id, "user_id": person.scope.user_id,
        "conversation_id": uuid.uuid4(), "message_id": uuid.uuid4(), "run_id": uuid.uuid4(), "turn": 1, "position": 0,
        "tool_name": "save_note", "input": {}, "status": status, "error_code": "timeout" if status == "error" else None,
        "created_at": moment, "row_key": b"k" * 32,
    } | given  # fmt: skip
    row["input"] = None if row["input"] is None else Jsonb(row["input"])
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        names = ", ".join(row)
        owner.execute(f"INSERT INTO tool_calls ({names}) VALUES ({', '.join(['%s'] * len(row))})", [*row.values()])
    return row["id"]


@contextmanager
def inside(person: Person) -> Iterator[None]:
    """Within the scope of a person's request."""
    with transactions.scope(*person.scope):
        yield


def listed(person: Person, limit: int = 100, **given: Any) -> list[uuid.UUID]:
    """The ids of a page as that person sees it."""
    place = {name: given.pop(name) for name in ("before", "after") if name in given}
    with inside(person):
        return [call.id for call in calls.page(person.principal, Filters(**given), limit=limit, **place)]


@pytest.mark.parametrize(
    ("query", "finds"),
    [
        ("milk", True), ("MILK", True), ("buy milk", True), ("milk buy", True), ("milk bread", False), ("mil", False),
        ("mil*", True), ("mil* buy", False), ("buy mil*", True), ("save_note", True), ("save note", True),
        ("Müller", True), ("mÜLLER", True), ("Mu\u0308ller", True), ("Muller", False), ("straße", True),
        ("世界", True), ("界", True), ("世 人", False), ("ｂｕｙ", True), ("it's", True), ("2.5", True), ("2,5", True),
        ("a@b.example", True), ("new", True), ("line", True), ("nline", False), ("quoted", True), ("“quoted”", True),
        ("", False), ("  ", False), ("%", False), ("*", False), ("'", False), ("\\", False), ("':*", False),
        ("milk & bread", False), ("milk | bread", False), ("!bread", False), ("milk:*A", True), ("<b>milk</b>", True),
        ("title", True), ("x" * 200, False), ("tenant=", False), ("\x00", False), ("milk\x00", False),
        ("\ud800", False),
    ],
)  # fmt: skip
def test_a_call_is_found_by_all_of_its_words(tenant: Cast, query: str, finds: bool) -> None:
    title = 'Buy 2.5 l of milk, it\'s for Mr. Müller-Straße (a@b.example)\nnew\nline "quoted" 你好世界'
    made = written(tenant.alice, input={"title": title})
    for age in range(3):
        written(tenant.alice, timedelta(days=age), tool_name="other", input={"text": "crumb"})
    assert listed(tenant.alice, words=query) == ([made] if finds else [])
    assert listed(tenant.dana, words=query) == ([made] if finds else [])


def test_words_are_those_of_name_line_error_and_arguments_and_of_nothing_else(tenant: Cast) -> None:
    made = [
        written(tenant.alice, tool_name="apple.of-eden"),
        written(tenant.alice, display="An apple a day"),
        written(tenant.alice, status="error", error_message="no apple"),
        written(tenant.alice, input={"deep": [{"fruit": "apple"}]}),
        written(tenant.alice, input=None, input_raw='{"broken": "apple'),
    ]
    written(tenant.alice, output=Jsonb({"apple": 1}), output_hash="apple", decision=Jsonb([{"log": "apple"}]))
    written(tenant.alice, input={"long": "x " * 4096 + "apple"})
    assert listed(tenant.alice, words="apple") == made[::-1]


def test_words_of_any_length_and_number_are_no_error(tenant: Cast) -> None:
    made = written(tenant.alice, input={"a": "y" * 100_000, "b": "word"}, display="z" * 5000, tool_name="\\'&|!():*")
    assert listed(tenant.alice, words="y" * 64) == [made]
    assert listed(tenant.alice, words="y" * 150) == [made]
    assert listed(tenant.alice, words="y " * 100) == []
    assert listed(tenant.alice, words="z" * 64, tool="\\'&|!():*") == [made]


@pytest.mark.parametrize("status", [status for status in Status if status != "error"])
def test_a_call_is_found_whatever_its_status(tenant: Cast, status: str) -> None:
    older = written(tenant.alice, timedelta(days=70), display="walnut", status=status)
    newer = written(tenant.alice, display="walnut", status=status)
    assert listed(tenant.alice, words="walnut") == [newer, older]
    assert listed(tenant.dana, words="walnut", status=status) == [newer, older]
    assert listed(tenant.dana, words="walnut", status="error") == []


def test_nobody_finds_what_they_may_not_read(tenant: Cast, other_tenant: Cast) -> None:
    own, bobs = written(tenant.alice, display="walnut"), written(tenant.bob, display="walnut")
    theirs = written(other_tenant.alice, display="walnut")
    assert listed(tenant.alice, words="walnut") == [own]
    assert listed(tenant.dana, words="walnut") == [bobs, own]
    assert listed(other_tenant.dana, words="walnut") == [theirs]
    assert listed(tenant.dana, words="walnut", tenant_id=other_tenant.id) == []
    assert listed(tenant.alice, words="walnut", user=tenant.bob.scope.user_id) == []
    assert listed(tenant.dana, words="walnut", user=tenant.bob.username) == [bobs]
    assert listed(tenant.dana, words="walnut", user="nobody") == []
    with on_login("operator"):
        found = calls.found(None, Filters(words="walnut"), limit=1000)
    assert {own, bobs, theirs} <= set(found)


@pytest.mark.parametrize("setting", ["''", "NULL"])
def test_outside_every_tenant_nothing_is_found_and_the_app_may_not_look_beyond_its_own(
    tenant: Cast, setting: str
) -> None:
    written(tenant.alice, display="walnut")
    beyond = json.dumps({"words": "walnut", "tenant_id": str(tenant.id)})
    place = "'00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', true, 10"
    with psycopg.connect(settings.DATABASE_URLS["default"], autocommit=True) as app:
        app.execute(f"SELECT set_config('toolgate.tenant', {setting}, false)".encode())
        assert app.execute(f"SELECT * FROM find_tool_calls('{beyond}', {place})".encode()).fetchall() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(f"SELECT * FROM search_tool_calls('{beyond}', {place})".encode())


AGES = [timedelta(minutes=1), timedelta(minutes=50), timedelta(hours=4), timedelta(days=1), timedelta(days=9),
        timedelta(days=40), timedelta(days=95), timedelta(days=150), timedelta(days=300)]  # fmt: skip


@pytest.mark.parametrize("given", [{}, {"words": "fig"}, {"words": "fi*"}])
@pytest.mark.parametrize("reader", ["alice", "dana"])
def test_pages_follow_one_another_either_way_however_far_apart_the_calls(
    tenant: Cast, reader: str, given: dict[str, Any]
) -> None:
    person = getattr(tenant, reader)
    made = [written(tenant.alice, age, display="fig") for age in AGES]
    # What is not asked for, in between, keeps no page from its place.
    for age in AGES if given else []:
        written(tenant.alice, age, display="date")
    assert listed(person, **given) == made
    forwards: list[uuid.UUID] = []
    while page := listed(person, 2, **given, **({"before": forwards[-1]} if forwards else {})):
        forwards += page
    assert forwards == made
    assert listed(person, 3, after=made[5], **given) == [made[4], made[3], made[2]]
    assert listed(person, 3, after=made[-1], **given) == [made[-2], made[-3], made[-4]]
    with inside(person):
        assert [call.id for call in calls.each(person.principal, Filters(**given), batch=2)] == made


@pytest.mark.parametrize("words", [None, "pear"])
def test_every_filter_narrows_and_they_combine(tenant: Cast, words: str | None) -> None:
    given = {} if words is None else {"words": words}
    conversation, run = uuid.uuid4(), uuid.uuid4()
    now = datetime.now(UTC)
    hour = timedelta(hours=1)
    done = written(tenant.alice, 5 * hour, display="pear", conversation_id=conversation, run_id=run)
    failed = written(tenant.alice, 4 * hour, display="pear", status="error", started_at=now, run_id=run)
    refused = written(tenant.alice, 3 * hour, display="pear", status="error", error_code="not_allowed", tool_name="x")
    erased = written(tenant.bob, 2 * hour, display="pear", row_key=None)
    waiting = written(tenant.alice, hour, display="pear", status="awaiting_approval", conversation_id=conversation)
    running = written(tenant.alice, display="pear", status="running")
    narrowed = {
        "status": {"success": [erased, done], "error": [refused, failed], "failed": [failed], "refused": [refused],
                   "erased": [erased], "in_progress": [running], "awaiting_approval": [waiting], "nonsense": []},
        "tool": {"x": [refused], "X": []},
        "error_code": {ErrorCode.TIMEOUT: [failed], "nonsense": []},
        "user": {tenant.bob.username: [erased], tenant.bob.scope.user_id: [erased]},
        "conversation_id": {conversation: [waiting, done]},
        "run_id": {run: [failed, done]},
        "since": {now - 2.5 * hour: [running, waiting, erased]},
        "until": {now - 2.5 * hour: [refused, failed, done]},
        "tenant_id": {tenant.id: [running, waiting, erased, refused, failed, done], uuid.uuid4(): []},
    }  # fmt: skip
    for name, values in narrowed.items():
        for value, expected in values.items():
            assert listed(tenant.dana, **given, **{name: value}) == expected, (name, value)
    assert listed(tenant.dana, **given, status="error", run_id=run, tool="save_note") == [failed]
    assert listed(tenant.dana, **given, since=now - 4.5 * hour, until=now - 0.5 * hour, status="error") == [
        refused,
        failed,
    ]
    assert listed(tenant.alice, **given, user=tenant.bob.username) == []
    for moment in (datetime.min, datetime.max):
        listed(tenant.dana, **given, since=moment.replace(tzinfo=UTC), until=moment.replace(tzinfo=UTC))


def test_the_operator_lists_every_tenants_calls_by_tool_and_error(tenant: Cast, other_tenant: Cast) -> None:
    name = f"tool-{uuid.uuid4().hex}"
    made = [
        written(other_tenant.bob, timedelta(days=50), tool_name=name, status="error"),
        written(tenant.alice, tool_name=name),
        written(tenant.alice, tool_name=name, status="running"),
    ][::-1]
    with on_login("operator"):
        assert [call.id for call in calls.page(None, Filters(tool=name), limit=10)] == made
        assert [call.id for call in calls.page(None, Filters(tool=name, error_code="timeout"), limit=10)] == made[2:]
        assert [call.id for call in calls.page(None, Filters(tool=name, tenant_id=tenant.id), limit=10)] == made[:2]


def test_what_was_erased_is_found_by_its_words_no_more(tenant: Cast) -> None:
    made = written(tenant.alice, display="walnut", input={"title": "walnut"})
    assert listed(tenant.alice, words="walnut") == [made]
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute("UPDATE tool_calls SET (input, display, row_key) = (NULL, '', NULL) WHERE id = %s", [made])
    assert listed(tenant.alice, words="walnut") == []
    assert listed(tenant.alice, words="save_note") == [made]


def test_nothing_else_of_the_connection_is_changed_by_a_search(tenant: Cast) -> None:
    written(tenant.alice, display="walnut")
    names = ("enable_indexscan", "enable_seqscan", "plan_cache_mode", "max_parallel_workers_per_gather")

    def kept() -> list[str]:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT " + ", ".join(f"current_setting('{name}')" for name in names))
            return list(cursor.fetchone())

    with inside(tenant.alice):
        before = kept()
        assert len(calls.page(tenant.alice.principal, Filters(words="walnut"), limit=5)) == 1
        assert kept() == before


def test_a_page_reads_only_what_it_is_asked_to(tenant: Cast) -> None:
    written(tenant.alice, display="walnut")
    for words in (None, "walnut"):
        with inside(tenant.alice):
            [call] = calls.page(
                tenant.alice.principal, Filters(words=words), limit=2, calls=ToolCall.objects.only("id", "display")
            )
            assert call.get_deferred_fields() >= {"output", "row_key", "input"}


def test_an_operators_queryset_can_be_narrowed_by_words_too(tenant: Cast, other_tenant: Cast) -> None:
    word = f"w{uuid.uuid4().hex}"
    made = [written(other_tenant.alice, display=word), written(tenant.alice, display=word, tool_name="x")]
    written(tenant.alice)
    with on_login("operator"):
        everyones = ToolCall.objects.order_by("id")
        assert [call.id for call in calls.narrowed(everyones, Filters(words=word))] == made
        assert [call.id for call in calls.narrowed(everyones, Filters(words=word, tool="x"))] == made[1:]
        assert [call.id for call in calls.narrowed(everyones, Filters(words=word, tenant_id=tenant.id))] == made[1:]
