"""Ending runs that nobody waits for any longer: a run from outside with all below it, or what is below one that ended.

First the runs, from the root of the tree to its leaves, then what they wait for: nothing is begun under a run that was
cancelled, and its drivers' fences are out of date.
"""

import uuid
from dataclasses import dataclass, field

from approvals.events import ApprovalEvents
from approvals.questions import repository as questions
from approvals.requests import repository as requests
from audit.calls import recorder
from audit.calls.recorder import Failure
from gateway.runs import repository
from gateway.runs.children import ending
from tenants.scope.transactions import Connection, TenantScope


@dataclass(slots=True)
class Cancelled:
    """The runs that were cancelled together, the highest first; whether notifications about them are to be delivered;
    the events of their requests; and the run whose call has ended with the highest, if one waited for it."""

    run_ids: list[uuid.UUID] = field(default_factory=list)
    notified: bool = False
    events: list[ApprovalEvents] = field(default_factory=list)
    ended_call_of: uuid.UUID | None = None


async def withdraw(connection: Connection, run_id: uuid.UUID, failure: Failure) -> ApprovalEvents:
    """Withdraw what a run that is over waits for, and end its calls that nobody has."""
    withdrawn = await requests.withdraw(connection, run_id)
    await questions.withdraw(connection, run_id)
    await recorder.withdraw(connection, run_id, failure)
    return withdrawn


async def tree(
    connection: Connection, scope: TenantScope, run_id: uuid.UUID, failure: Failure, *, spared: bool = False
) -> Cancelled:
    """Cancel an open run of the user's with all below it; `spared`: only those below it."""
    ended = await repository.cancel(connection, scope, run_id, spared=spared)
    found = Cancelled([each.run.id for each in ended], any(each.notified for each in ended))
    for each in ended:
        found.events.append(await withdraw(connection, each.run.id, failure))
    if ended and ended[0].run.id == run_id and await ending.settle(connection, ended[0].run, ""):
        found.ended_call_of = ended[0].run.parent_run_id
    return found
