"""Humans who decide: in the background, each request as its run's key says, until the decision is answered."""

import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

import psycopg

from tests.faults.client import Request
from tests.faults.house import House

_PENDING = """
    SELECT a.id, r.idempotency_key AS key, r.id AS run_id, t.slug
    FROM approval_requests a JOIN runs r ON r.id = a.run_id JOIN tenants t ON t.id = a.tenant_id
    WHERE a.status = 'pending' AND a.expires_at > now() AND r.status = 'requires_action'
        AND r.idempotency_key = ANY(%s)"""
_EXPIRE = "UPDATE approval_requests SET expires_at = now() WHERE id = %s AND status = 'pending'"
APPROVERS = {"demo": "carol", "acme": "yuri"}


class Humans:
    """`verdicts` by Idempotency-Key: approve, deny, cancel, expire (its time is over), or end (of the whole run).

    A decision is sent until it is answered, as a client's request is; `answers` by request id.
    """

    def __init__(self, house: House, verdicts: dict[str, str]):
        self.verdicts = verdicts
        self.sent: dict[str, Request] = {}
        self._house = house
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._decide, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        for request in self.sent.values():
            request.give_up()

    def _decide(self) -> None:
        while not self._over.wait(0.2):
            for pending in self._house.rows(_PENDING, list(dict(self.verdicts))):
                if str(pending["id"]) not in self.sent:
                    self._one(pending)

    def _one(self, pending: dict[str, str]) -> None:
        house, number, verdict = self._house, str(pending["id"]), self.verdicts[pending["key"]]
        approver = house.people[APPROVERS[pending["slug"]]]
        asker = house.alice if pending["slug"] == "demo" else house.zoe
        if verdict == "expire":
            # A database that is away now is asked again in a moment.
            with suppress(psycopg.OperationalError):
                house.change(_EXPIRE, number)
        elif verdict == "end":
            self.sent[number] = Request(house, f"/api/v1/runs/{pending['run_id']}/cancel", person=asker)
        else:
            person = asker if verdict == "cancel" else approver
            self.sent[number] = Request(house, f"/api/v1/approvals/{number}/{verdict}/", {}, person=person)
