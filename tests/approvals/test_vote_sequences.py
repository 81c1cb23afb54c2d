"""Whatever several people do to one request in whatever order: its arguments run only when enough of them knew them.

The model below knows nothing of revisions and rows. It remembers what each person was shown, what each accepted
decision was about, and how the arguments changed, and says whether a call may be approved.
"""

import itertools
import random
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.conf import settings
from psycopg.rows import dict_row

from approvals.requests import decisions, parsing
from approvals.requests.decisions import Decider
from audit.canonical import sha256_hex
from gateway.compat import approval_responses
from tenants.errors import Refused
from tests.approvals.requests import EDITED, INPUT, held
from tests.people import Cast, Person, make_tenant

ARGUMENTS = {"original": INPUT, "edited": EDITED}
SURFACES = ["api", "socket", "responses"]
# What a person may do. "blind" says nothing of what was seen, "seen" names what the person read last.
ACTS = ["read", "blind", "seen", "edit", "edit back", "deny"]
PEOPLE = ["carol", "olga", "bob"]
Step = tuple[str, str]
_REQUEST = """
    SELECT r.*, c.status AS call_status, c.error_code, c.approved_input, array(
        SELECT d.user_id FROM approval_decisions d WHERE d.request_id = r.id AND d.revision = r.revision) AS voters
    FROM approval_requests r JOIN tool_calls c ON c.id = r.call_id WHERE r.id = %s"""


@dataclass
class Model:
    """What people know: the arguments as they are, what each last read, and who approved them since the last edit."""

    needed: int
    current: str = "original"
    edits: int = 0
    read: dict[str, str] = field(default_factory=dict)
    knowing: set[str] = field(default_factory=set)

    def accepted(self, who: str, act: str) -> None:
        """Take in a decision that was not refused; asserts that it may not be."""
        if act in ("edit", "edit back"):
            wanted = "edited" if act == "edit" else "original"
            if wanted != self.current:
                self.current, self.knowing = wanted, set()
                self.edits += 1
        elif act == "blind":
            assert self.edits == 0, "approved without a look, after an edit"
        elif act == "seen":
            assert self.read[who] == self.current, "approved what was read, which it is not any more"
        self.knowing.add(who)

    @property
    def may_run(self) -> bool:
        """Whether enough different people approved these very arguments."""
        return len(self.knowing) >= self.needed


async def _act(person: Person, request: uuid.UUID, act: str, surface: str, seen: str | None) -> None:
    """One decision, through what the surface calls."""
    edited = {"edit": EDITED, "edit back": INPUT}.get(act)
    current = sha256_hex(ARGUMENTS[seen]) if seen else None
    if surface == "responses" and edited is None:
        expires_at = datetime.now(UTC) + timedelta(hours=1)
        row: Any = SimpleNamespace(id=request, user_id=None, status="pending", expires_at=expires_at)
        await approval_responses._done(person.principal, person.scope, row, act != "deny", "", current)
        return
    given: dict[str, Any] = {}
    if act != "deny":
        given |= {"seen": current} if current else {}
        given |= {"arguments": edited} if edited is not None else {}
    said = parsing.said(given, "deny" if act == "deny" else "approve")
    decider = Decider(*person.scope, via=surface)
    if act == "deny":
        await decisions.deny(decider, request, reason=said.reason, seen=said.seen)
    else:
        await decisions.approve(decider, request, arguments=said.arguments, seen=said.seen)


async def _played(tenant: Cast, steps: list[Step], needed: int, surfaces: list[str]) -> str:
    """Play the steps on a request of its own, beside the model; the status that it ends with."""
    request = held(tenant.alice, approvals_needed=needed)
    model = Model(needed)
    for (who, act), surface in zip(steps, surfaces, strict=True):
        person: Person = getattr(tenant, who)
        before = _row(request)
        if before["status"] != "pending":
            break
        if act == "read":
            model.read[who] = "original" if before["params_hash"] == sha256_hex(INPUT) else "edited"
            continue
        seen = model.read.get(who) if act in ("seen", "edit", "edit back") else None
        if act == "seen" and seen is None:
            continue
        try:
            await _act(person, request, act, surface, seen)
        except Refused:
            continue
        row = _row(request)
        if act == "deny":
            assert (row["status"], row["call_status"], row["error_code"]) == ("denied", "error", "approval_denied")
            return "denied"
        # Over Responses a second approval of one person is passed over without a word.
        if surface != "responses" or _voted(row, person):
            model.accepted(who, act)
        ran = INPUT if row["approved_input"] is None else row["approved_input"]
        assert ran == ARGUMENTS[model.current]
        assert (row["status"] == "approved") == model.may_run, (steps, row, model)
    return str(_row(request)["status"])


def _voted(row: dict[str, Any], person: Person) -> bool:
    return person.scope.user_id in row["voters"]


def _row(request: uuid.UUID) -> dict[str, Any]:
    """The request with what its call would run with, and who voted about its arguments as they are."""
    found = _owner().execute(_REQUEST, [request]).fetchone()
    assert found is not None
    return found


@cache
def _owner() -> "psycopg.Connection[dict[str, Any]]":
    # One for all: every step looks at the tables, and a connection costs more than a decision.
    return psycopg.connect(settings.DATABASE_URLS["owner"], autocommit=True, row_factory=dict_row)


@pytest.fixture(scope="module")
def crowd() -> Cast:
    """A tenant in which bob approves too."""
    tenant = make_tenant()
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute("UPDATE memberships SET role = 'approver' WHERE user_id = %s", [tenant.bob.scope.user_id])
    return tenant


@pytest.fixture(autouse=True)
def _unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody watches these requests, and no run waits for them."""

    async def silent(ended: Any) -> None:
        pass

    monkeypatch.setattr(decisions, "_publish", silent)


async def test_the_invariant_holds_for_every_short_sequence_of_two_people(crowd: Cast) -> None:
    """Any two acts of carol and olga, after carol has read the request and before she approves."""
    acts = list(itertools.product(PEOPLE[:2], ACTS))
    endings = set()
    for number, steps in enumerate(itertools.product(acts, repeat=2)):
        sequence: list[Step] = [("carol", "read"), *steps, ("carol", ("blind", "seen")[number % 2])]
        surfaces = [SURFACES[(number + at) % 3] for at in range(len(sequence))]
        endings.add(await _played(crowd, sequence, 2, surfaces))
    assert endings == {"pending", "approved", "denied"}


@pytest.mark.parametrize("needed", [1, 2, 3])
async def test_the_invariant_holds_for_long_random_sequences_of_three_people(crowd: Cast, needed: int) -> None:
    chance = random.Random(needed)
    endings = set()
    for _ in range(20):
        steps = [(chance.choice(PEOPLE), chance.choice(ACTS[:5] * 3 + ACTS[5:])) for _ in range(10)]
        endings.add(await _played(crowd, steps, needed, chance.choices(SURFACES, k=10)))
    assert {"approved", "denied"} <= endings
