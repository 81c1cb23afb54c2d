"""A call runs once, and is in the record."""

from tests.mutations.catalogue.mutation import Mutation, function

QUESTIONS = ("tests/questions/test_direct_calls.py",)
RECORDER = ("tests/audit/test_recorder.py", "tests/audit/test_recorder_locks.py")
JOURNEYS = "tests/journeys/test_approvals.py"

MUTATIONS = (
    # --- once and in the record ---------------------------------------------------------------------------------------
    Mutation(
        "a claimed call is locked under any fence",
        RECORDER,
        "audit/calls/sql/lock_tool_call.sql",
        " AND c.fence = held\n",
        "\n",
    ),
    Mutation(
        "a worker gives up the call that it has, when somebody has a look at it",
        RECORDER,
        "audit/calls/sql/lock_tool_call.sql",
        "            FOR NO KEY UPDATE;\n",
        "            FOR NO KEY UPDATE SKIP LOCKED;\n",
    ),
    Mutation(
        "settle does not compare the fence",
        RECORDER,
        "audit/calls/sql/settle_tool_call.sql",
        "WHERE c.id = call AND c.status = ANY(sources) AND c.fence = was\n",
        "WHERE c.id = call AND c.status = ANY(sources)\n",
    ),
    Mutation(
        "requeue does not compare the fence",
        RECORDER,
        "audit/calls/sql/requeue_tool_call.sql",
        "WHERE c.id = call AND c.status = ANY(sources) AND c.fence = was;",
        "WHERE c.id = call AND c.status = ANY(sources);",
    ),
    Mutation(
        "resume does not compare the status",
        RECORDER,
        "audit/calls/recorder.py",
        "    UPDATE tool_calls SET status = 'queued', queued_at = now(), resumed_decision = %s\n"
        "    WHERE id = %s AND status = 'awaiting_approval' RETURNING id",
        "    UPDATE tool_calls SET status = 'queued', queued_at = now(), resumed_decision = %s\n"
        "    WHERE id = %s RETURNING id",
    ),
    Mutation(
        "edit does not compare the status",
        RECORDER,
        "audit/calls/recorder.py",
        "approved_params_hash = %s\n    WHERE id = %s AND status = 'awaiting_approval' RETURNING id",
        "approved_params_hash = %s\n    WHERE id = %s RETURNING id",
    ),
    Mutation(
        "a question is answered by somebody else of the tenant",
        QUESTIONS,
        "approvals/questions/answering.py",
        "    if not asked or asked[0].user_id != scope.user_id:\n",
        "    if not asked:\n",
    ),
    Mutation(
        "an answer has no entry in the ledger",
        QUESTIONS,
        "approvals/questions/answering.py",
        "        await recorder.answered(connection, call, values)\n",
        "",
    ),
    Mutation(
        "a call goes on with its answer without passing the gates again",
        QUESTIONS,
        "approvals/questions/resumption.py",
        "    if refusal is None:\n        return await recorder.go_on",
        "    if True:\n        return await recorder.go_on",
    ),
    Mutation(
        "a call that waits for its user keeps its fence",
        QUESTIONS,
        "audit/calls/recorder.py",
        "SET lease_until = NULL, fence = fence + 1, attempt",
        "SET lease_until = NULL, attempt",
    ),
    Mutation(
        "refuse ends calls that do not wait",
        RECORDER,
        "audit/calls/recorder.py",
        'waits = ["running" if call.asks_user else "awaiting_approval"]',
        'waits = ["running" if call.asks_user else "awaiting_approval", "queued"]',
    ),
    Mutation(
        "a run's turn is committed under an old fence",
        ("tests/gateway/runs/test_repository.py",),
        sql=function("commit_turn", "AND r.fence = commit_turn.fence "),
    ),
    Mutation(
        "a run's last turn is committed under an old fence",
        ("tests/gateway/runs/test_repository.py",),
        sql=function("commit_last_turn", "AND r.fence = commit_last_turn.fence "),
    ),
    Mutation(
        "a run is ended under an old fence",
        ("tests/gateway/runs/test_repository.py",),
        "gateway/runs/repository.py",
        '_HELD = "WHERE id = %(id)s AND fence = %(fence)s AND',
        '_HELD = "WHERE id = %(id)s AND',
    ),
    Mutation(
        "an effect leaves before running is committed",
        ("tests/faults/test_kills.py::test_a_worker_lost_after_an_effect_may_have_begun_is_never_retried",),
        "tools/invocation/in_worker/execution.py",
        "    call = await begun.claim(None, scope, execution.call_id, settings.RUN_LEASE_SECONDS)\n",
        "    async with begun.locked(scope, execution.call_id, None, settings.RUN_LEASE_SECONDS) as found:\n"
        "        call = found and found.call\n",
    ),
    Mutation("final calls may be rewritten", RECORDER, sql="DROP TRIGGER guard ON tool_calls"),
    Mutation("ledger entries may be deleted", RECORDER, sql="DROP TRIGGER append_only ON ledger_entries"),
    Mutation(
        "the app may delete calls",
        ("tests/tenants/test_catalogue.py",),
        sql="GRANT DELETE ON tool_calls TO toolgate_app",
    ),
    Mutation(
        "the log is signed on over tiles that changed",
        ("tests/audit/sealing/test_doubt.py",),
        "audit/log/sealing.py",
        "if await _root(connection, head.size) != head.root:",
        "if False:",
    ),
    Mutation(
        "a checkpoint file that is ahead is no alarm",
        ("tests/audit/sealing/test_doubt.py",),
        "audit/log/sealing.py",
        "if written.size > head.size:",
        "if False:",
    ),
    Mutation(
        "a receipt's path is not checked",
        ("tests/audit/test_receipts.py", "tests/audit/test_verifier.py"),
        "docs/verify.py",
        "if not right or last != 0 or node != root:",
        "if not right or last != 0:",
    ),
    Mutation(
        "who reads history leaves no record",
        ("tests/audit/test_reads.py",),
        "audit/history/reads.py",
        "= Counter((call.tenant_id, call.user_id) for call in calls)\n",
        "= Counter()\n",
    ),
    Mutation(
        "a change of a setting is recorded without its ledger entry",
        ("tests/audit/test_changes.py",),
        "audit/changes/recording.py",
        "            cursor.execute(ledger.INSERT, entry)\n",
        "",
    ),
    Mutation(
        "a change of a setting may be recorded outside its transaction",
        ("tests/audit/test_changes.py",),
        "audit/changes/recording.py",
        "    if not connection.in_atomic_block:\n",
        "    if False:\n",
    ),
    Mutation(
        "a change says its secret",
        ("tests/audit/test_changes.py",),
        "tenants/people/changes.py",
        "found[name] = [SET if was else NONE, (REPLACED if was else SET) if is_now else NONE]",
        "found[name] = [was, is_now]",
    ),
    Mutation(
        "every member reads who changed which setting",
        ("tests/audit/test_changes.py",),
        "gateway/rest/audit/changes.py",
        "and not self.principal.sees_whole_history",
        "and False",
    ),
    Mutation(
        "an erasure keeps the output",
        ("tests/audit/test_erasure.py",),
        "audit/retention/erasure.py",
        "input_raw = NULL, output = NULL, display",
        "input_raw = NULL, display",
    ),
    Mutation(
        "the clock of a run runs on while a human thinks",
        (f"{JOURNEYS}::test_the_clock_stands_still_while_a_human_thinks",),
        "gateway/runs/repository.py",
        "lease_until = NULL, resumed_at = NULL,",
        "lease_until = NULL,",
    ),
)
