"""What is broken, how, and which tests are asked whether they notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One guarantee that is broken: `old` becomes `new` in a file of the source, or `sql` runs in the database."""

    name: str
    tests: tuple[str, ...]
    file: str = ""
    old: str = ""
    new: str = ""
    sql: str = ""


def _open_policy(table: str) -> str:
    return f"DROP POLICY app ON {table}; CREATE POLICY app ON {table} TO toolgate_app USING (true) WITH CHECK (true)"


def _function(name: str, old: str, new: str = "") -> str:
    """SQL that replaces a part of a function's body; it fails where that has no such part."""
    return (
        f"DO $do$ DECLARE body text := pg_get_functiondef('{name}'::regproc); BEGIN "
        f"ASSERT position($old${old}$old$ IN body) > 0, 'the function {name} has no such part'; "
        f"EXECUTE replace(body, $old${old}$old$, $new${new}$new$); END $do$"
    )


WALLS = ("tests/tenants/test_catalogue.py", "tests/tenants/test_walls.py")
RECORDER = ("tests/audit/test_recorder.py",)
DECIDING = ("tests/approvals/test_deciding.py",)
JOURNEYS = "tests/journeys/test_approvals.py"
RIGHTS = ("tests/gateway/runs/test_rights_versions.py",)
CHANGES = "rights_changed_on_insert_update_delete"
GATES = ("tests/tools/test_gates.py", "tests/tools/test_tiers.py", "tests/hostile/test_model_calls.py")

MUTATIONS = (
    # --- another tenant ---------------------------------------------------------------------------------------------
    Mutation("row security of notes is not forced", WALLS, sql="ALTER TABLE notes NO FORCE ROW LEVEL SECURITY"),
    Mutation("row security of notes is off", WALLS, sql="ALTER TABLE notes DISABLE ROW LEVEL SECURITY"),
    Mutation("the policy of notes lets everything through", WALLS[1:], sql=_open_policy("notes")),
    Mutation("the policy of tool_calls lets everything through", WALLS[1:], sql=_open_policy("tool_calls")),
    Mutation("the policy of runs lets everything through", WALLS[1:], sql=_open_policy("runs")),
    Mutation(
        "the policy of approval_requests lets everything through",
        ("tests/approvals/test_reading.py", "tests/approvals/test_deciding.py"),
        sql=_open_policy("approval_requests"),
    ),
    Mutation(
        "personal rows are hidden by tenant only",
        WALLS[1:],
        sql="DROP POLICY app ON conversations; CREATE POLICY app ON conversations TO toolgate_app"
        " USING (tenant_id = (SELECT nullif(current_setting('toolgate.tenant', true), '')::uuid))",
    ),
    Mutation(
        "a message's conversation may be another tenant's",
        WALLS[1:],
        sql="ALTER TABLE messages DROP CONSTRAINT messages_conversation_id_same_tenant;"
        " ALTER TABLE messages DROP CONSTRAINT messages_run_id_same_tenant",
    ),
    Mutation(
        "a worker runs calls within whatever tenant the row says",
        ("tests/tenants/test_walls.py::test_a_call_is_not_run_for_a_message_that_names_another_tenant",),
        "tools/invocation/execution.py",
        "    execution = _Execution(TenantScope(tenant_id, user_id), call_id)\n",
        "    from tenants.scope.transactions import fetch\n\n"
        '    query = "SELECT tenant_id, user_id FROM tool_calls WHERE id = %s"\n'
        '    [row] = await fetch(query, [call_id], login="system")\n'
        "    execution = _Execution(TenantScope(**row), call_id)\n",
    ),
    Mutation(
        "a tool's cache is everybody's",
        ("tests/tools/test_cache.py",),
        "tools/network/cache.py",
        'return f"{_PREFIX}:{self._tenant_id}:{key}"',
        'return f"{_PREFIX}:{key}"',
    ),
    # --- a user -----------------------------------------------------------------------------------------------------
    Mutation(
        "members read everybody's calls",
        ("tests/pages/test_history.py", "tests/rest/test_history.py"),
        "tenants/people/principal.py",
        'return self.role in {"auditor", "owner"}',
        "return True",
    ),
    Mutation(
        "a key keeps scopes that its role lost",
        ("tests/tenants/test_keys.py",),
        "tenants/people/principal.py",
        "return allowed if narrowed is None else allowed & frozenset(narrowed)",
        "return allowed if narrowed is None else frozenset(narrowed)",
    ),
    Mutation(
        "a view's scope is not asked for",
        ("tests/tenants/test_keys.py", "tests/approvals/test_reading.py"),
        "gateway/http/authentication.py",
        "    if needs not in principal.scopes:\n        raise MissingScope(needs)\n",
        "    return\n",
    ),
    Mutation(
        "a revoked key opens",
        ("tests/tenants/test_keys.py",),
        sql="""DO $$ BEGIN EXECUTE replace(pg_get_functiondef('authenticate_key'::regproc),
                    'k.revoked_at IS NULL', 'true'); END $$""",
    ),
    Mutation(
        "an expired key opens",
        ("tests/tenants/test_keys.py",),
        sql="""DO $$ BEGIN EXECUTE replace(pg_get_functiondef('authenticate_key'::regproc),
                    'k.expires_at > now()', 'true'); END $$""",
    ),
    Mutation(
        "keys are kept as they are",
        ("tests/hostile/test_text.py", "tests/tenants/test_keys.py"),
        "tenants/people/keys.py",
        'return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()',
        'return key.encode("utf-8", "surrogatepass")',
    ),
    Mutation(
        "a session needs no CSRF token",
        ("tests/tenants/test_sessions.py",),
        "gateway/http/drf.py",
        "        self.enforce_csrf(request._request)  # type: ignore[arg-type]\n",
        "",
    ),
    Mutation(
        "log-ins are not counted",
        ("tests/pages/test_log_in.py",),
        "tenants/login/pages.py",
        "rate=settings.LOGIN_ATTEMPTS, increment=True)",
        "rate=settings.LOGIN_ATTEMPTS, increment=False)",
    ),
    # --- the model --------------------------------------------------------------------------------------------------
    Mutation(
        "the gate allowlist is skipped",
        GATES,
        "tools/gates/order.py",
        "    Allowlist(),\n",
        "",
    ),
    Mutation(
        "the gate schema is skipped",
        ("tests/hostile/test_model_arguments.py",),
        "tools/gates/order.py",
        "    Schema(),\n",
        "",
    ),
    Mutation(
        "the gate permission is skipped",
        ("tests/tools/test_tiers.py", "tests/rest/test_tools.py"),
        "tools/gates/order.py",
        "    Permission(),\n",
        "",
    ),
    Mutation(
        "the gate policy is skipped",
        ("tests/approvals/test_rules_chat.py",),
        "tools/gates/order.py",
        "    Rules(),\n",
        "",
    ),
    Mutation(
        "the gate rate_limit is skipped",
        ("tests/hostile/test_limits.py",),
        "tools/gates/order.py",
        "    RateLimit(),\n",
        "",
    ),
    Mutation(
        "the gate approval is skipped",
        ("tests/journeys/test_approvals.py",),
        "tools/gates/order.py",
        "    Approving(),\n",
        "",
    ),
    Mutation(
        "gates are not passed again on resumption",
        ("tests/journeys/test_approvals.py",),
        "tools/gates/order.py",
        "    return gates(Occasion.RESUMED)",
        "    return ()",
    ),
    Mutation(
        "a rule that cannot be decided does not deny",
        ("tests/approvals/test_rules.py", "tests/approvals/test_rules_chat.py"),
        "tools/gates/rules.py",
        "if matches is not False:",
        "if matches:",
    ),
    Mutation(
        "without Redis what changes things goes on",
        ("tests/hostile/test_limits.py",),
        "tools/gates/rate_limit.py",
        "if policy.tier(tool) is Tier.READ_ONLY and not wrong:",
        "if True:",
    ),
    Mutation(
        "an Idempotency-Key is not compared with its request",
        ("tests/rest/test_tool_calls_api.py",),
        "tools/invocation/idempotency.py",
        ' or bytes(holder["request_hash"]) != request_hash',
        "",
    ),
    Mutation(
        "calls are recorded by rights that were changed meanwhile",
        RIGHTS,
        sql=_function("rights_hold", "coalesce(rights_version(of_tenant) = version, false) AND"),
    ),
    Mutation(
        "calls are recorded by a rule that has expired meanwhile",
        RIGHTS,
        sql=_function("rights_hold", "AND coalesce(valid_until > now(), true)"),
    ),
    Mutation(
        "a turn is recorded by whatever rights",
        RIGHTS,
        sql=_function("commit_turn", "holds := rights_hold(tenant, version, valid_until)", "holds := true"),
    ),
    Mutation(
        "a run begins by what its agent was",
        RIGHTS,
        sql=_function("begin_run", "rights_version(tenant) IS DISTINCT FROM version", "false"),
    ),
    Mutation(
        "a run begins by rights of no version",
        RIGHTS,
        sql=_function(
            "begin_run", "rights_version(tenant) IS DISTINCT FROM version", "rights_version(tenant) <> version"
        ),
    ),
    Mutation(
        "rights of no version hold",
        RIGHTS,
        sql=_function(
            "rights_hold", "coalesce(rights_version(of_tenant) = version, false)", "rights_version(of_tenant) = version"
        ),
    ),
    *(
        Mutation(f"{table}: {trigger} leaves the rights as they were", RIGHTS, sql=f"DROP TRIGGER {trigger} ON {table}")
        for table, trigger in (
            *((table, CHANGES) for table in ("memberships", "tool_settings", "grants", "agents")),
            *((table, "rights_changed_on_update") for table in ("tenants", "users", "approval_rules")),
            ("approval_rules", "rights_changed_on_insert_delete"),
        )
    ),
    Mutation(
        "a key may be twice in an object",
        ("tests/tools/test_arguments.py", "tests/hostile/test_model_arguments.py"),
        "tools/schemas/arguments.py",
        "object_pairs_hook=_object, ",
        "",
    ),
    # --- approvals --------------------------------------------------------------------------------------------------
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
        "approvals/requests/decisions.py",
        "SET params_hash = %s, revision = revision + 1 WHERE id = %s",
        "SET params_hash = %s WHERE id = %s",
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
        "tools/invocation/execution.py",
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
    # --- once and in the record -------------------------------------------------------------------------------------
    Mutation(
        "a claimed call is locked under any fence",
        RECORDER,
        "audit/calls/sql/lock_tool_call.sql",
        "AND c.fence = held END",
        "END",
    ),
    Mutation(
        "settle does not compare the fence",
        RECORDER,
        "audit/calls/sql/settle_tool_call.sql",
        "WHERE c.id = call AND c.status = ANY(sources) AND c.fence = was;",
        "WHERE c.id = call AND c.status = ANY(sources);",
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
        "refuse ends calls that do not wait",
        RECORDER,
        "audit/calls/recorder.py",
        '["awaiting_approval"], call.fence)',
        '["awaiting_approval", "queued"], call.fence)',
    ),
    Mutation(
        "a run's turn is committed under an old fence",
        ("tests/gateway/runs/test_repository.py",),
        sql=_function("commit_turn", "AND r.fence = commit_turn.fence "),
    ),
    Mutation(
        "a run's last turn is committed under an old fence",
        ("tests/gateway/runs/test_repository.py",),
        sql=_function("commit_last_turn", "AND r.fence = commit_last_turn.fence "),
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
        "tools/invocation/execution.py",
        "    call = await recorder.claim(None, scope, execution.call_id, settings.RUN_LEASE_SECONDS)\n",
        "    async with recorder.locked(scope, execution.call_id, None, settings.RUN_LEASE_SECONDS) as found:\n"
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
        ("tests/audit/test_sealing_doubt.py",),
        "audit/log/sealing.py",
        "if await _root(connection, head.size) != head.root:",
        "if False:",
    ),
    Mutation(
        "a checkpoint file that is ahead is no alarm",
        ("tests/audit/test_sealing_doubt.py",),
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
    # --- outside ----------------------------------------------------------------------------------------------------
    Mutation(
        "egress checks no literal address",
        ("tests/tools/test_egress.py",),
        "tools/network/egress.py",
        "if literal is not None and not _permitted(host, literal):",
        "if False:",
    ),
    Mutation(
        "egress checks no looked-up address",
        ("tests/tools/test_egress.py",),
        "tools/network/egress.py",
        "kept = [each for each in found if _permitted(host, ip_address(each[1]))]",
        "kept = list(found)",
    ),
    Mutation(
        "the search follows redirects",
        ("tests/tools/test_search.py",),
        "tools/search/fetch.py",
        "allow_redirects=False",
        "allow_redirects=True",
    ),
    Mutation(
        "the search unpacks without a bound",
        ("tests/tools/test_search.py",),
        "tools/search/fetch.py",
        "if len(body) > MAX_BYTES:",
        "if False:",
    ),
    Mutation(
        "a provider's words are passed on with keys",
        ("tests/gateway/providers/test_provider_faults.py",),
        "gateway/providers/failures.py",
        'message = message.replace(secret, "…")',
        "pass",
    ),
    Mutation(
        "the key stands in the log",
        ("tests/hostile/test_text.py",),
        "tenants/login/authentication.py",
        "    for row in await transactions.fetch(AUTHENTICATE, [digest(key)]):",
        '    __import__("logging").getLogger(__name__).warning("asked with %s", key)\n'
        "    for row in await transactions.fetch(AUTHENTICATE, [digest(key)]):",
    ),
    Mutation(
        "text forges lines of the log",
        ("tests/hostile/test_text.py",),
        "gateway/process/logs.py",
        "        return _escaped(self._inner.format(record))",
        "        return self._inner.format(record)",
    ),
    # --- notifications ----------------------------------------------------------------------------------------------
    Mutation(
        "a target gets events that were not chosen for it",
        ("tests/notifications/test_channels.py",),
        "notifications/outbox.py",
        " AND enabled AND event.name = ANY(events)",
        " AND enabled",
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
    # --- MCP --------------------------------------------------------------------------------------------------------
    Mutation(
        "an MCP client is shown every tool",
        ("tests/mcp/test_lists.py",),
        "gateway/mcp/tools.py",
        "    tools = evaluation.offered(await policy_of(context))\n",
        "    tools = list(registry().all())\n",
    ),
    Mutation(
        "somebody else's call is an MCP client's task",
        ("tests/mcp/test_tasks.py::test_a_task_of_somebody_else_is_no_task",),
        "gateway/mcp/tasks.py",
        "        call = await reading.one(connection, call_id, scope.user_id)\n",
        "        call = await reading.of_id(connection, call_id)\n",
    ),
    Mutation(
        "a page of elsewhere may use MCP",
        ("tests/mcp/test_requests.py::test_a_page_of_elsewhere_gets_nothing",),
        "gateway/mcp/app.py",
        "        raise WrongOrigin\n",
        "        pass\n",
    ),
    Mutation(
        "an MCP client's key reaches beyond its scopes",
        ("tests/mcp/test_requests.py::test_a_key_reaches_as_far_as_its_scopes",),
        "gateway/mcp/app.py",
        "        raise OutOfScope(message.method, needed)\n",
        "        pass\n",
    ),
    Mutation(
        "a call runs although its MCP client hung up before it began",
        ("tests/mcp/test_hanging_up.py::test_a_client_that_hangs_up_cancels_a_call_that_has_not_begun",),
        "gateway/mcp/calls.py",
        "            _later(_cancel(under_way, call))\n",
        "            pass\n",
    ),
    Mutation(
        "a web process that ends cancels the calls of its MCP clients",
        ("tests/mcp/test_hanging_up.py::test_a_web_process_that_ends_cancels_nothing",),
        "gateway/mcp/calls.py",
        "        # Not when it is this process that ends: the client asks another one.\n        if under_way.gone:\n",
        "        if True:\n",
    ),
    Mutation(
        "an approved call over MCP is asked for anew by the same arguments",
        ("tests/mcp/test_calls.py::test_after_the_approval_the_same_arguments_get_the_same_calls_result_once",),
        "tools/invocation/invoke.py",
        "            found = await pending.find(step.connection, caller, request_hash) if resumes else None\n",
        "            found = None\n",
    ),
    # --- services ---------------------------------------------------------------------------------------------------
    Mutation(
        "the policies of services let everything through",
        ("tests/services/test_http_tools.py",),
        sql=f"{_open_policy('services')}; {_open_policy('service_tools')}",
    ),
    Mutation(
        "a service's tool that changed can be called at once",
        ("tests/services/test_openapi_services.py",),
        "services/catalogue.py",
        "WHEN t.hash <> t.accepted_hash THEN 'changed'",
        "WHEN false THEN 'changed'",
    ),
    Mutation(
        "a service's credential follows it to another host",
        ("tests/services/test_services_api.py", "tests/services/test_services_admin.py"),
        "services/changes.py",
        "    if elsewhere and service.identity != Service.Identity.NONE and not credential_given:\n",
        "    if False:\n",
    ),
    Mutation(
        "one row that cannot be swept stops the sweep",
        ("tests/tools/test_execution.py",),
        "gateway/operations/sweeper.py",
        "        except psycopg.OperationalError:\n",
        "        except Exception:\n",
    ),
    Mutation(
        "any hash accepts a service's tool",
        ("tests/services/test_services_api.py",),
        "services/changes.py",
        "    if read != (tool.hash or tool.accepted_hash):\n",
        "    if not read:\n",
    ),
    Mutation(
        "an approval is good for whatever a service's tool has become",
        ("tests/services/test_http_tools.py",),
        "services/execution/tool.py",
        "        return self.declared.binding\n",
        '        return ""\n',
    ),
    Mutation(
        "what a service repeats of its credential is recorded",
        ("tests/services/test_hostile_services.py",),
        "services/credentials.py",
        'text = text.replace(secret, "[credential]")',
        "text = text.strip()",
    ),
    Mutation(
        "members add services",
        ("tests/services/test_services_api.py",),
        "gateway/rest/services/services.py",
        '    scope = "admin"\n',
        '    scope = "tools:read"\n',
    ),
    Mutation(
        "an argument climbs out of its part of the address",
        ("tests/services/test_descriptors.py",),
        "services/offers/definition.py",
        '        held["pattern"] = SEGMENT\n',
        '        held["pattern"] = ".*"\n',
    ),
)
