"""What must hold of every call whatever was killed: none lost, none had twice, no final status changed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.calls import ledger
from tests.faults import journal
from tests.faults.client import Client, Request
from tests.faults.deployment import Deployment
from tests.faults.remote import Remote

FINAL_CALL = {"success", "error"}
FINAL_RUN = {"completed", "incomplete", "failed", "cancelled"}
# What a request that came to nothing has made of its call.
_REFUSED = {"denied": "approval_denied", "expired": "approval_expired", "cancelled": "cancelled"}
_REQUESTS = """
    SELECT a.*, c.status AS call_status, c.error_code, c.attempt FROM approval_requests a
    JOIN tool_calls c ON c.id = a.call_id WHERE a.run_id = ANY(%s)"""
_NOT_IN_LEDGER = """
    SELECT d.call_id FROM approval_decisions d JOIN tool_calls c ON c.id = d.call_id WHERE c.run_id = ANY(%s)
    EXCEPT ALL SELECT call_id FROM ledger_entries WHERE kind = 'decided'"""
_OF_RUNS = "WHERE run_id = ANY(%s)"
# With all below them.
_RUNS = """
    SELECT r.* FROM runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id)
    WHERE root.idempotency_key = ANY(%s)"""


@dataclass
class Findings:
    """What was looked at and what was found wrong with it, in words."""

    runs: int = 0
    calls: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def wrong(self) -> list[str]:
        """Everything that was found wrong."""
        return [*self.lost, *self.doubled, *self.changed, *self.others]


def look(
    deployment: Deployment, remote: Remote, clients: Iterable[Client], decisions: Mapping[str, Request] | None = None
) -> Findings:
    """Compare the rows of the clients' runs, the remote's effects, the ledger, the journal and what was answered."""
    by_key = {client.key: client for client in clients}
    runs = deployment.rows(_RUNS, list(by_key))
    ids = [run["id"] for run in runs]
    calls = deployment.rows(f"SELECT * FROM tool_calls {_OF_RUNS} ORDER BY id", ids)
    found = Findings(len(runs), len(calls))
    by_run = defaultdict(list)
    for call in calls:
        by_run[call["run_id"]].append(call)
    _nothing_is_lost(deployment, found, runs, by_run, by_key)
    _effects_are_single(deployment, remote, found, calls)
    _decisions_stand(deployment, found, ids, decisions or {})
    _final_is_final(deployment, found, ids)
    _ledger_is_true(deployment, found, calls)
    _isolation_holds(deployment, found, runs)
    return found


def _nothing_is_lost(
    deployment: Deployment, found: Findings, runs: list[Any], by_run: dict[Any, list[Any]], by_key: dict[str, Client]
) -> None:
    answered = {run["idempotency_key"] for run in runs}
    found.lost += [f"request {key} has no run" for key, client in by_key.items() if client.body and key not in answered]
    promised: Counter[Any] = Counter()
    for turn in deployment.rows(f"SELECT run_id, calls FROM turns {_OF_RUNS}", [run["id"] for run in runs]):
        promised[turn["run_id"]] += turn["calls"]
    for run in runs:
        calls = by_run[run["id"]]
        if run["status"] not in FINAL_RUN:
            found.lost.append(f"run {run['id']} is {run['status']}")
        if len(calls) != promised[run["id"]]:
            found.lost.append(f"run {run['id']} has {len(calls)} calls of {promised[run['id']]}")
        found.lost += [f"call {c['id']} is {c['status']}" for c in calls if c["status"] not in FINAL_CALL]
        if run["parent_run_id"] is None:
            _answer_is_true(found, by_key[run["idempotency_key"]], run, calls)


def _answer_is_true(found: Findings, client: Client, run: Any, calls: list[Any]) -> None:
    if client.status is None:
        found.others.append(f"run {run['id']} was never answered")
    elif client.status == 500:
        found.others.append(f"run {run['id']} was answered with 500")
    elif client.status == 200:
        said = [(call["id"], call["status"]) for call in client.body["tool_calls"]]
        are = [(str(call["id"]), call["status"]) for call in sorted(calls, key=lambda c: (c["turn"], c["position"]))]
        if (client.body["run_id"], client.body["status"]) != (str(run["id"]), run["status"]):
            found.changed.append(f"run {run['id']} was answered as {client.body['status']} and is {run['status']}")
        elif said != are and client.body["status"] == "completed":
            found.changed.append(f"run {run['id']} was answered with {said} and has {are}")


def _effects_are_single(deployment: Deployment, remote: Remote, found: Findings, calls: list[Any]) -> None:
    titles = [call["input"]["title"] for call in calls if call["tool_name"] == "slow_note"]
    saved = deployment.rows("SELECT title, count(*) AS n FROM notes WHERE title = ANY(%s) GROUP BY title", titles)
    notes: Counter[str] = Counter({row["title"]: row["n"] for row in saved})
    for call in calls:
        name, done = call["tool_name"], call["status"] == "success"
        if name == "slow_note":
            effects, most = notes[call["input"]["title"]], int(done)
        elif name in ("slow_effect", "guarded_effect", "slow_lookup"):
            effects = remote.effects[call["input"]["url"].removeprefix(remote.url)]
            most = 3 if name == "slow_lookup" else 1
        else:
            continue
        if effects > most:
            found.doubled.append(f"{name} {call['id']} ({call['status']}) had {effects} effects")
        if done and effects == 0:
            found.lost.append(f"{name} {call['id']} succeeded without an effect")


def _decisions_stand(deployment: Deployment, found: Findings, ids: list[Any], decisions: Mapping[str, Request]) -> None:
    for request in deployment.rows(_REQUESTS, ids):
        number, status = request["id"], request["status"]
        answer = decisions.get(str(number))
        shown = answer.body["status"] if answer and answer.status == 200 and "tool" in answer.body else status
        if shown != status:
            found.changed.append(f"request {number} was answered as {shown} and is {status}")
        if status == "pending":
            found.lost.append(f"request {number} is pending")
        elif status == "approved" and request["call_status"] == "success" and request["used_at"] is None:
            found.others.append(f"request {number} was never used, and its call ran")
        elif status in _REFUSED and (request["error_code"], request["attempt"]) != (_REFUSED[status], 0):
            found.doubled.append(f"request {number} is {status}, and its call {request['error_code']}")
    missing = deployment.rows(_NOT_IN_LEDGER, ids)
    found.others += [f"a decision about call {row['call_id']} is not in the ledger" for row in missing]


def _final_is_final(deployment: Deployment, found: Findings, ids: list[Any]) -> None:
    found.changed += journal.faults(deployment.rows(f"SELECT * FROM fault_journal {_OF_RUNS} ORDER BY seq", ids))
    rewritten = deployment.rows("""SELECT after FROM fault_journal WHERE "table" = 'ledger_entries'""")
    found.changed += [f"a ledger entry: {row['after']}" for row in rewritten]
    # The database's own guard refuses such a change; nobody should even have tried.
    found.changed += [f"somebody tried: {line}" for line in deployment.refused_changes()]


def _ledger_is_true(deployment: Deployment, found: Findings, calls: list[Any]) -> None:
    entries = defaultdict(list)
    of_calls = "SELECT * FROM ledger_entries WHERE call_id = ANY(%s) ORDER BY seq"
    for entry in deployment.rows(of_calls, [call["id"] for call in calls]):
        entries[entry["call_id"]].append(entry)
    for call in calls:
        kinds = [entry["kind"] for entry in entries[call["id"]]]
        if kinds[:1] != ["proposed"] or kinds[-1:] != ["settled"] or set(kinds[1:-1]) - {"decided"}:
            found.others.append(f"call {call['id']} ({call['status']}) has ledger entries {kinds}")
            continue
        for entry, payload in ((entries[call["id"]][0], ledger.proposed), (entries[call["id"]][-1], ledger.settled)):
            if ledger.commitment(bytes(call["row_key"]), payload(call)) != bytes(entry["commitment"]):
                found.others.append(f"call {call['id']} is not what its {entry['kind']} entry commits to")


def _isolation_holds(deployment: Deployment, found: Findings, runs: list[Any]) -> None:
    for table, key, owned in (
        ("tool_calls", "run_id", True),
        ("turns", "run_id", True),
        ("messages", "run_id", True),
        ("approval_requests", "run_id", True),
        ("fault_journal", "run_id", False),
    ):
        astray = f"""SELECT t.id FROM {table} t JOIN runs r ON r.id = t.{key} WHERE r.id = ANY(%s)
            AND (t.tenant_id <> r.tenant_id {"OR t.user_id <> r.user_id" if owned else ""})"""
        found.others += [
            f"{table} {row['id']} is astray" for row in deployment.rows(astray, [run["id"] for run in runs])
        ]
    astray = """
        SELECT n.title FROM notes n JOIN tool_calls c ON c.input ->> 'title' = n.title AND c.tool_name = 'slow_note'
        WHERE c.run_id = ANY(%s) AND (n.tenant_id, n.user_id) <> (c.tenant_id, c.user_id)
        UNION ALL SELECT e.call_id::text FROM ledger_entries e JOIN tool_calls c ON c.id = e.call_id
        WHERE c.run_id = ANY(%s) AND e.tenant_id <> c.tenant_id"""
    ids = [run["id"] for run in runs]
    found.others += [f"{row['title']} is astray" for row in deployment.rows(astray, ids, ids)]
