"""A conversation that holds a word wherever Toolgate keeps one, and a look through every table for it."""

import os
import uuid
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
from psycopg import sql

from gateway.models import Agent
from tenants.scope.routing import on_login
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import until

# What a user's model made stays the user's: a note is no copy of a call.
DOCUMENTS = {"notes", "tasks"}


def tables_with(*words: str) -> dict[str, int]:
    """How many rows of which tables hold one of the words in any of their columns, as the owner sees them."""
    found = {}
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        tables = owner.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'm', 'p')"
            " AND NOT relispartition"
        ).fetchall()
        for (table,) in tables:
            look = sql.SQL("SELECT count(*) FROM {t} WHERE {t}::text LIKE ANY(%s)").format(t=sql.Identifier(table))
            [(count,)] = owner.execute(look, [[f"%{word}%" for word in words]]).fetchall()
            if count:
                found[table] = count
    return found


def calls_of(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's calls, oldest first."""
    return rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


def entries_of(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's ledger, oldest first."""
    return rows("SELECT * FROM ledger_entries WHERE tenant_id = %(t)s ORDER BY seq", t=tenant.id)


@dataclass(frozen=True)
class Said:
    """A conversation of alice's: a note, refused calls, a mail that carol changed and approved, one that she denied."""

    word: str
    conversation_id: str
    calls: list[dict[str, Any]]

    @property
    def secrets(self) -> list[str]:
        """The word, and every hash and key of the calls."""
        hashes = [call[name] for call in self.calls for name in ("params_hash", "output_hash", "approved_params_hash")]
        keys = [call["row_key"].hex() for call in self.calls]
        return [self.word, *(each for each in (*hashes, *keys) if each)]


def said(stack: Stack, tenant: Cast) -> Said:
    """Let alice's model say a word that is nobody else's in arguments, outputs, errors, edits and reasons."""
    word = f"w{uuid.uuid4().hex}"
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(on_refused_approval="halt")
    mail = f'{{"to": "{word}@example.com", "subject": "{word}", "body": "b"}}'
    begun = stack.chat(
        tenant.alice,
        f'call: save_note {{"title": "{word}", "content": "{word}"}}\ncall: save_note {{"title": 1, "{word}": "x"}}\n'
        f"call: no_such_tool {{{word}\ncall: send_email {mail}",
    )
    assert begun.status_code == 202, begun.text
    body = begun.json()
    edited = {"to": f"{word}@example.com", "subject": f"Edited {word}", "body": "b"}
    _decide(stack, tenant.carol, body, "approve", reason=f"Because of {word}", arguments=edited)
    _until_over(stack, tenant.alice, body)
    again = stack.chat(tenant.alice, f"call: send_email {mail}", conversation_id=body["conversation_id"]).json()
    _decide(stack, tenant.carol, again, "deny", reason=f"Not {word}")
    _until_over(stack, tenant.alice, again)
    return Said(word, body["conversation_id"], calls_of(tenant))


def _decide(stack: Stack, person: Person, body: dict[str, Any], verdict: str, **more: Any) -> None:
    [approval] = body["required_action"]["approvals"]
    url = f"{stack.url}/api/v1/approvals/{approval['id']}/{verdict}/"
    answer = httpx.post(url, json=more, headers=person.headers)
    assert answer.status_code == 200, answer.text


def _until_over(stack: Stack, person: Person, body: dict[str, Any]) -> None:
    path = f"/api/v1/runs/{body['run_id']}"
    until(lambda: stack.get(person, path).json()["status"] not in ("requires_action", "in_progress"))
