"""Approvals, and who is told of what."""

from tests.mutations.catalogue.mutation import Mutation, function

DECIDING = ("tests/approvals/test_deciding.py",)

MUTATIONS = (
    # --- approvals ----------------------------------------------------------------------------------------------------
    Mutation(
        "one's own request may be approved",
        DECIDING,
        "approvals/requests/decisions.py",
        "        if request.user_id == decider.user_id:\n            raise OwnRequest\n",
        "",
    ),
    Mutation(
        "one person approves twice",
        DECIDING,
        "approvals/requests/decisions.py",
        "            raise AlreadyVoted\n",
        '            await _record(connection, decider, request, call, "approve", reason, edit)\n',
    ),
    Mutation(
        "one of two approvals is enough",
        DECIDING,
        "approvals/requests/decisions.py",
        "if len(counting) < request.approvals_needed:\n            return",
        "if not counting:\n            return",
    ),
    Mutation(
        "members decide",
        DECIDING,
        "approvals/requests/decisions.py",
        "        if not await votes.may_decide(connection, request, [decider.user_id]):\n"
        "            raise NotAnApprover\n",
        "",
    ),
    Mutation(
        "arguments are approved unseen",
        ("tests/approvals/test_seen.py",),
        "approvals/requests/votes.py",
        "return request.revision != 1 if seen is None else seen != request.params_hash",
        "return False",
    ),
    Mutation(
        "an edit that is taken back revives the approvals before it",
        ("tests/approvals/test_seen.py", "tests/approvals/test_vote_sequences.py"),
        "approvals/requests/edits.py",
        "SET params_hash = %s, revision = revision + 1\n",
        "SET params_hash = %s\n",
    ),
    Mutation(
        "a vote outlives its voter",
        ("tests/approvals/test_votes.py",),
        "approvals/requests/votes.py",
        '    return {row["user_id"] for row in await asked.fetchall()}\n\n\nasync def approvers',
        "    await asked.fetchall()\n    return set(others)\n\n\nasync def approvers",
    ),
    Mutation(
        "one tenant's failures open the circuit of all",
        ("tests/tools/test_circuit.py",),
        "tools/invocation/in_worker/execution.py",
        "guarded = (execution.scope.tenant_id, tool.name)",
        "guarded = (uuid.UUID(int=0), tool.name)",
    ),
    Mutation(
        "an approval is used twice",
        ("tests/journeys/test_approvals.py", "tests/approvals/test_deciding.py"),
        "approvals/requests/repository.py",
        "WHERE id = %s AND status = 'approved' AND used_at IS NULL RETURNING {_COLUMNS}",
        "WHERE id = %s AND status = 'approved' RETURNING {_COLUMNS}",
    ),
    Mutation("decided requests may be rewritten", DECIDING, sql="DROP TRIGGER guard ON approval_requests"),
    Mutation(
        "a decision is not in the ledger",
        ("tests/journeys/test_approvals.py", "tests/approvals/test_deciding.py"),
        "audit/calls/recorder.py",
        '    await connection.execute(ledger.INSERT.encode(), _entry(call, ledger.decided(decision), decision["id"]))',
        "    return",
    ),
    # --- notifications ------------------------------------------------------------------------------------------------
    Mutation(
        "a target gets events that were not chosen for it",
        ("tests/notifications/test_channels.py",),
        sql=function("notify_targets", " AND notify_targets.event = ANY (t.events)"),
    ),
    Mutation(
        "who may decide no longer is still written to",
        ("tests/notifications/test_delivery.py",),
        "notifications/delivery.py",
        " AND (t.destination = '{REQUESTER}' OR m.role = ANY(%(deciders)s))",
        "",
    ),
    Mutation(
        "the URL of a Slack channel is shown",
        ("tests/notifications/test_admin.py",),
        "notifications/channels/slack/target.py",
        'destination=url.host or ""',
        "destination=typed",
    ),
)
