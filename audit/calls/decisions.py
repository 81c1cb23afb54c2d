"""How decisions about calls are read, which the ledger's entries "decided" and "erased" are about.

Their table belongs to a package above this one, which registers its queries here when Django starts.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecisionQueries:
    """SQL over the table of decisions, with psycopg's placeholders.

    A decision's row has every column of the table, among them `id`, `call_id` and what `ledger.decided` takes.
    """

    # The table's name, as findings say it.
    table: str
    # Every decision: `id`, `tenant_id`, `call_id`. No placeholder.
    everything: str
    # Of ids: the rows.
    by_id: str
    # Of ids of calls: the rows in their order. As erasure leaves a row it says whether the decision `counted`, and
    # `unerased` says that there is more in it than erasure leaves.
    of_calls: str
    # Of a tenant and ids of calls, which are about to be erased: the rows in their order, and whether each `counted`.
    before_erasure: str
    # Of a tenant and a call: the rows in their order, each with the `username`, null where the reader may not see it.
    with_usernames: str


_registered: list[DecisionQueries] = []


def register(queries: DecisionQueries) -> None:
    """Say how decisions are read, in place of what was said before."""
    _registered[:] = [queries]


def queries() -> DecisionQueries:
    """How decisions are read; raises LookupError when no package has said so: nothing is known then."""
    if not _registered:
        raise LookupError("no installed app has registered how decisions are read (audit.calls.decisions)")
    return _registered[0]
