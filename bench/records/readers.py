"""Who looks at a long history, what they ask for, and through which door: the page, the API, the admin."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import psycopg

from bench.records import generator

# The rows that each door asks for: a page and one.
PAGE, API, ADMIN = 31, 51, 51
TERMS = (
    "c.status IN ('success', 'error', 'awaiting_approval') AND call_terms(c.id, c.tenant_id, c.user_id, c.tool_name,"
    " c.error_code, c.display, c.error_message, c.input, c.input_raw) @@ '{}'::tsquery"
)


@dataclass(frozen=True)
class Reader:
    """Somebody who is logged in, in all three ways that they can be."""

    name: str
    tenant_id: str
    user_id: str
    page: Any
    api: Any
    admin: Any
    conversation: str
    call: str
    before: str
    whole: bool

    def cases(self) -> Iterator[tuple[str, dict[str, str], str]]:
        """What is asked for, as the API's filters, and the same as a predicate."""
        mine = f"tenant_id = '{self.tenant_id}'" + ("" if self.whole else f" AND user_id = '{self.user_id}'")
        if self.admin:
            mine = "true"
        term = f"''tenant={self.tenant_id}''" if self.whole else f"''user={self.user_id}''"
        since = datetime.now(UTC) - timedelta(days=200)
        until = since + timedelta(days=3)
        yield "first page", {}, mine
        yield "a common tool", {"tool": "save_note"}, f"{mine} AND tool_name = 'save_note'"
        yield "a rare tool", {"tool": generator.RARE_TOOL}, f"{mine} AND tool_name = '{generator.RARE_TOOL}'"
        yield "failed or refused", {"status": "error"}, f"{mine} AND status = 'error'"
        yield "an error", {"error_code": "timeout"}, f"{mine} AND error_code = 'timeout'"
        yield "a rare error", {"error_code": "outcome_unknown"}, f"{mine} AND error_code = 'outcome_unknown'"
        yield "waiting", {"status": "awaiting_approval"}, f"{mine} AND status = 'awaiting_approval'"
        if not self.admin:
            yield (
                "a conversation",
                {"conversation": self.conversation},
                f"{mine} AND conversation_id = '{self.conversation}'",
            )
            yield (
                "three days, months ago",
                {"since": since.isoformat(), "until": until.isoformat()},
                f"{mine} AND id >= uuid_v7_floor('{since}') AND id < uuid_v7_floor('{until}')",
            )
        yield (
            "a tool that failed",
            {"tool": "web_search", "status": "error"},
            f"{mine} AND tool_name = 'web_search' AND status = 'error'",
        )
        for kind, words in (
            ("a common word", "report"),
            ("two common words", "meeting review"),
            ("a rare word", generator.RARE_WORD),
            ("an absent word", generator.ABSENT_WORD),
        ):
            # A page of a common word is in the newest hours of everybody's calls, and the bare query may know it.
            bounds = f"(''at={self.call[:6]}''|''at={self.before[:6]}'')&" if self.whole and "common" in kind else ""
            asked = bounds + "&".join(f"''{word}''" for word in words.split())
            where = TERMS.format(asked if self.admin else f"{asked}&{term}")
            yield f"search: {kind}", {"q": words}, where
        yield "one call", {"id": self.call}, f"id = '{self.call}'"

    def requests(self, query: dict[str, str]) -> Iterator[tuple[str, Callable[[], Any], int]]:
        """The same through each door: its name, the request, and how many rows it reads."""
        call = query.get("id")
        if self.admin:
            names = {"tool": "tool", "status": "outcome", "error_code": "error_code__exact", "q": "q"}
            asked = urlencode({names[name]: value for name, value in query.items() if name in names})
            path = f"/admin/audit/toolcall/{call}/change/" if call else f"/admin/audit/toolcall/?{asked}"
            yield "admin", lambda: _get(self.admin, path), ADMIN
            return
        names = {"error_code": "error"}
        asked = urlencode({names.get(name, name): value[:10] if name in ("since", "until") else value
                           for name, value in query.items()})  # fmt: skip
        yield "page", lambda: _get(self.page, f"/history/{call}/" if call else f"/history/?{asked}"), PAGE
        asked = urlencode(query)
        path = f"/api/v1/tool-calls/{call}/" if call else f"/api/v1/tool-calls/?{asked}"
        yield "API", lambda: _get(self.api, path), API


def _get(client: Any, path: str) -> None:
    answer = client.get(path)
    if answer.status_code != 200:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.content[:500]!r}")


def readers(owner: psycopg.Connection, only: str | None) -> Iterator[Reader]:
    """A member with few calls, one with very many, an auditor, and an operator."""
    tenant_id = _one(owner, "SELECT tenant_id FROM bench_people WHERE tenant = 0 LIMIT 1")
    for name, number, role in (
        ("member", 500, "member"),
        ("busy member", 0, "member"),
        ("auditor", 1, "auditor"),
        ("operator", 2, "owner"),
    ):
        if only in (None, name):
            user_id = _one(owner, f"SELECT user_id FROM bench_people WHERE tenant = 0 AND number = {number}")
            yield _reader(owner, name, tenant_id, user_id, role)


def _one(owner: psycopg.Connection, query: str) -> str:
    row = owner.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])


def _reader(owner: psycopg.Connection, name: str, tenant_id: str, user_id: str, role: str) -> Reader:
    from django.test import Client

    from tenants.models import Membership, User
    from tenants.people import keys
    from tenants.scope.routing import on_login

    operator = name == "operator"
    with on_login("operator"):
        User.objects.filter(id=user_id).update(is_superuser=operator, is_staff=operator)
        membership = Membership.objects.get(tenant_id=tenant_id, user_id=user_id)
        Membership.objects.filter(id=membership.id).update(role=role)
        _, key = keys.create(membership=membership)
        user = User.objects.get(id=user_id)
    page = Client()
    page.cookies["sessionid"] = session_of(user)
    whole = role != "member"
    mine = f"tenant_id = '{tenant_id}'" + ("" if whole else f" AND user_id = '{user_id}'")
    call, conversation = (
        _one(owner, f"SELECT {column} FROM tool_calls WHERE {mine} ORDER BY id DESC LIMIT 1")
        for column in ("id", "conversation_id")
    )
    before = _one(owner, f"SELECT uuid_v7_floor(uuid_extract_timestamp('{call}') - interval '4 hours')")
    return Reader(name, tenant_id, str(uuid.UUID(user_id)), page, Client(headers={"Authorization": f"Bearer {key}"}),
                  page if operator else None, conversation, call, before, whole)  # fmt: skip


def session_of(user: Any) -> str:
    """The key of a new session of a user, on the login of the ORM's default."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "tenants.login.authentication.PasswordBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)
