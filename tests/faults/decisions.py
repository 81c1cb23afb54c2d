"""Humans who decide: in the background, each request as its run's key says, until the decision is answered."""

import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

import psycopg

from tests.faults.client import Request
from tests.faults.deployment import Deployment

_PENDING = """
    SELECT a.id, root.idempotency_key AS key, r.id AS run_id, root.id AS root_id, t.slug
    FROM approval_requests a JOIN runs r ON r.id = a.run_id JOIN tenants t ON t.id = a.tenant_id
    JOIN runs root ON root.id = coalesce(r.root_run_id, r.id)
    WHERE a.status = 'pending' AND a.expires_at > now() AND r.status = 'requires_action'
        AND root.idempotency_key = ANY(%s)"""
_EXPIRE = "UPDATE approval_requests SET expires_at = now() WHERE id = %s AND status = 'pending'"
APPROVERS = {"demo": "carol", "acme": "yuri"}


class Humans:
    """`verdicts` by Idempotency-Key, for the requests of its run and of all below it: approve, deny, cancel, expire
    (its time is over), end (of the run that asked), or end all (of the run with all below it).

    A decision is sent until it is answered, as a client's request is; `answers` by request id.
    """

    def __init__(self, deployment: Deployment, verdicts: dict[str, str]):
        self.verdicts = verdicts
        self.sent: dict[str, Request] = {}
        self._deployment = deployment
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
            for pending in self._deployment.rows(_PENDING, list(dict(self.verdicts))):
                if str(pending["id"]) not in self.sent:
                    self._one(pending)

    def _one(self, pending: dict[str, str]) -> None:
        deployment, number, verdict = self._deployment, str(pending["id"]), self.verdicts[pending["key"]]
        approver = deployment.people[APPROVERS[pending["slug"]]]
        asker = deployment.alice if pending["slug"] == "demo" else deployment.zoe
        if verdict == "expire":
            # A database that is away now is asked again in a moment.
            with suppress(psycopg.OperationalError):
                deployment.change(_EXPIRE, number)
        elif verdict in ("end", "end all"):
            run_id = pending["run_id" if verdict == "end" else "root_id"]
            self.sent[number] = Request(deployment, f"/api/v1/runs/{run_id}/cancel", person=asker)
        else:
            person = asker if verdict == "cancel" else approver
            self.sent[number] = Request(deployment, f"/api/v1/approvals/{number}/{verdict}/", {}, person=person)
