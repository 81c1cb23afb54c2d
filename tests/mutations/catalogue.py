"""What is broken, how, and which tests are asked whether they notice."""

from dataclasses import dataclass

from tenants.scope import rls


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


ISOLATION = ("tests/tenants/test_catalogue.py", "tests/tenants/test_isolation.py")
QUESTIONS = ("tests/questions/test_direct_calls.py",)
OWNERS = ("tests/audit/test_owners.py",)
RECORDER = ("tests/audit/test_recorder.py", "tests/audit/test_recorder_locks.py")
DECIDING = ("tests/approvals/test_deciding.py",)
JOURNEYS = "tests/journeys/test_approvals.py"
RIGHTS = ("tests/gateway/runs/test_rights_versions.py", "tests/gateway/runs/test_remembered_rights.py")
CHANGES = "rights_changed_on_insert_update_delete"
TOKENS = "tests/connections/test_tokens.py"
RESERVING = "tests/budgets/test_reservations.py"
GATES = ("tests/tools/test_gates.py", "tests/tools/test_tiers.py", "tests/hostile/test_model_calls.py")

CHILDREN = "tests/gateway/runs/children"
ROUTING = ("tests/gateway/routing/test_runs.py",)
PROVIDER_KEYS = ("tests/gateway/routing/test_keys.py",)
PROVIDERS_REST = ("tests/gateway/routing/test_rest.py",)
CANVAS_SHOWN = ("tests/canvas/test_versions.py",)
MEMBERS = ("tests/members/test_members_api.py",)
MEMORIES = ("tests/keeping/test_memories.py",)
MEANING = ("tests/gateway/embeddings/test_meaning.py",)
INVITATIONS = ("tests/members/test_invitations.py",)
TAINT_GATE = ("tests/taint/test_gate.py",)
TAINT_CHATS = ("tests/taint/test_chats.py",)

MESSAGES = ("tests/inbox/test_messages.py",)
DESTINATIONS = ("tests/inbox/test_destinations.py",)

FILES = "tests/files/test_tools.py"

MUTATIONS = (
    # --- canvas -------------------------------------------------------------------------------------------------------
    Mutation(
        "what is drawn is of the page's own origin",
        CANVAS_SHOWN,
        "tools/keeping/canvas_pages.py",
        '"sandbox allow-scripts",',
        '"sandbox allow-scripts allow-same-origin",',
    ),
    Mutation(
        "what is drawn is shown in a window of its own",
        CANVAS_SHOWN,
        "tools/keeping/canvas_pages.py",
        'if request.headers.get("Sec-Fetch-Dest") != "iframe":',
        "if False:",
    ),
    Mutation(
        "the link to a canvas is good for ever",
        CANVAS_SHOWN,
        "tools/keeping/canvases.py",
        "max_age=LIFETIME",
        "max_age=None",
    ),
    Mutation(
        "the link to a canvas outlives its user's membership",
        CANVAS_SHOWN,
        "tools/keeping/canvases.py",
        "if once_more(tenant_id, user_id, None) is None:",
        "if False:",
    ),
    Mutation("a canvas is everybody's in the tenant", ISOLATION, sql=_open_policy("canvas_versions")),
    # --- open streams, and settings that two change at once -----------------------------------------------------------
    Mutation(
        "one person's streams are without a bound",
        ("tests/rest/test_open_streams.py",),
        "tenants/limits/streams.py",
        "if self._open[whose] >= most:",
        "if False:",
    ),
    Mutation(
        "a process's streams are without a bound",
        ("tests/rest/test_open_streams.py",),
        "tenants/limits/streams.py",
        "if self._total >= most_of_all:",
        "if False:",
    ),
    Mutation(
        "a setting that was changed meanwhile is changed all the same",
        ("tests/agents/test_changed_meanwhile.py",),
        "tenants/people/changes.py",
        "if digest is None or not hmac.compare_digest(digest.encode(), _digest(before).encode()):",
        "if digest is None:",
    ),
    Mutation(
        "an ETag of another setting lets a change through",
        ("tests/agents/test_changed_meanwhile.py",),
        "tenants/people/changes.py",
        "if digest is None and self.met:",
        "if digest is None:",
    ),
    # --- owners of calls ----------------------------------------------------------------------------------------------
    Mutation(
        "a user whose calls are on record can be deleted",
        OWNERS,
        sql="DROP TRIGGER keep_owner_of_calls ON users",
    ),
    Mutation(
        "a call without a run does not hold its user",
        OWNERS,
        sql=_function("hold_owner", "FOR KEY SHARE"),
    ),
    Mutation(
        "a call is written for a user who went",
        OWNERS,
        sql=_function("hold_owner", "IF NOT FOUND THEN", "IF false THEN"),
    ),
    # --- schedules ----------------------------------------------------------------------------------------------------
    Mutation(
        "a schedule runs for an account that is switched off",
        ("tests/schedules/test_firing.py",),
        "gateway/schedules/firing.py",
        'if not member["is_active"]:',
        "if False:",
    ),
    Mutation(
        "a schedule's runs overlap",
        ("tests/schedules/test_firing.py",),
        "gateway/schedules/firing.py",
        "if await (await connection.execute(_UNDER_WAY, [due.id])).fetchone() is not None:",
        "if False:",
    ),
    Mutation(
        "members see others' schedules",
        ("tests/schedules/test_rest.py",),
        "gateway/schedules/changes.py",
        "return found if principal.sees_whole_history else found.filter(user_id=principal.user_id)",
        "return found",
    ),
    Mutation(
        "owners read what others' schedules ask",
        ("tests/schedules/test_rest.py",),
        "gateway/rest/schedules.py",
        'return row.content if row.user_id == self.context["reader"] else None',
        "return row.content",
    ),
    Mutation(
        "strangers' words make a schedule without a human",
        ("tests/schedules/test_taint.py",),
        "tools/builtin/schedules/schedule.py",
        "Tier.ELEVATED if facts.tainted else Tier.WORKSPACE",
        "Tier.WORKSPACE",
    ),
    Mutation(
        "a run of a tainted schedule has read nothing",
        ("tests/schedules/test_taint.py",),
        "gateway/schedules/firing.py",
        "    if due.taint:\n",
        "    if False:\n",
    ),
    Mutation(
        "what a tainted schedule asks counts as the user's own words",
        ("tests/schedules/test_taint.py",),
        "gateway/runs/live_ports.py",
        "self._execution.own_words if own else ()",
        "self._execution.own_words",
    ),
    # --- members and invitations --------------------------------------------------------------------------------------
    Mutation(
        "the last owner can be removed",
        MEMBERS,
        sql=_function("change_member", "IF was = 'owner' AND wanted", "IF false AND wanted"),
    ),
    Mutation(
        "who was removed is told the owners' names",
        ("tests/rest/test_named_owners.py",),
        file="tenants/people/owners.py",
        old="""
        AND EXISTS (SELECT FROM memberships asks WHERE asks.tenant_id = %(tenant)s AND asks.user_id = %(user)s)""",
    ),
    Mutation(
        "two owners remove each other",
        MEMBERS,
        sql=_function("change_member", "ORDER BY m.user_id FOR UPDATE", "ORDER BY m.user_id"),
    ),
    Mutation(
        "whoever is in the tenant changes its members in the database",
        MEMBERS,
        sql=_function("change_member", "m.user_id = acting AND m.role = 'owner'", "m.user_id = acting"),
    ),
    Mutation(
        "an invitation works twice",
        INVITATIONS,
        sql=_function("find_invitation", "i.accepted_at IS NULL AND "),
    ),
    Mutation(
        "an invitation outlives its maker's ownership",
        INVITATIONS,
        sql=_function("find_invitation", "(i.created_by_id IS NULL OR m.id IS NOT NULL)", "true"),
    ),
    Mutation(
        "an invitation is for whoever has it, whatever their address",
        INVITATIONS,
        sql=_function(
            "accept_invitation", "(invitation.email = '' OR lower(u.email) = lower(invitation.email))", "true"
        ),
    ),
    Mutation(
        "runs of who left go on",
        ("tests/members/test_departures.py",),
        sql="DROP TRIGGER membership_ended ON memberships",
    ),
    # --- another tenant ---------------------------------------------------------------------------------------------
    Mutation("row security of notes is not forced", ISOLATION, sql="ALTER TABLE notes NO FORCE ROW LEVEL SECURITY"),
    Mutation("row security of notes is off", ISOLATION, sql="ALTER TABLE notes DISABLE ROW LEVEL SECURITY"),
    Mutation("the policy of notes lets everything through", ISOLATION[1:], sql=_open_policy("notes")),
    Mutation("the policy of tool_calls lets everything through", ISOLATION[1:], sql=_open_policy("tool_calls")),
    Mutation("the policy of runs lets everything through", ISOLATION[1:], sql=_open_policy("runs")),
    Mutation(
        "the policy of approval_requests lets everything through",
        ("tests/approvals/test_reading.py", "tests/approvals/test_deciding.py"),
        sql=_open_policy("approval_requests"),
    ),
    Mutation(
        "personal rows are hidden by tenant only",
        ISOLATION[1:],
        sql="DROP POLICY app ON conversations; CREATE POLICY app ON conversations TO toolgate_app"
        " USING (tenant_id = (SELECT nullif(current_setting('toolgate.tenant', true), '')::uuid))",
    ),
    Mutation(
        "a message's conversation may be another tenant's",
        ISOLATION[1:],
        sql="ALTER TABLE messages DROP CONSTRAINT messages_conversation_id_same_tenant;"
        " ALTER TABLE messages DROP CONSTRAINT messages_run_id_same_tenant",
    ),
    Mutation(
        "a worker runs calls within whatever tenant the row says",
        ("tests/tenants/test_isolation.py::test_a_call_is_not_run_for_a_message_that_names_another_tenant",),
        "tools/invocation/in_worker/execution.py",
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
    Mutation(
        "the policy of memories lets everything through",
        ("tests/tenants/test_catalogue.py",),
        sql=_open_policy("memories"),
    ),
    Mutation(
        "what is remembered with one agent is given to every agent",
        MEMORIES,
        sql=_function("find_memories", "f.terms @@ (given && asked)", "f.terms @@ asked"),
    ),
    Mutation(
        "what is remembered with one agent is found by its meaning by every agent",
        MEANING,
        sql=_function("find_memories_by_meaning", "OR g.agent = of_agent", "OR true"),
    ),
    Mutation(
        "what is embedded of a note outlives its words",
        MEANING,
        sql=_function("embed_later", "SET vector = NULL, model = '',", "SET"),
    ),
    Mutation(
        "notes are sent to a model that a kill switch stops",
        MEANING,
        file="gateway/embeddings/asking.py",
        old='if killed(switches, Subject(scope.user_id, "", found.name)) is not None:',
        new="if not switches and switches is None:",
    ),
    Mutation(
        "embedding goes on when its budget is spent",
        MEANING,
        sql=_function("charge_embedding", "OR held.spent + held.reserved + amount > budget.amount"),
    ),
    Mutation(
        "a memory forgets what was read before it was stored",
        MEMORIES,
        sql=_function("store_memory", "taint_labels(conversation)", "'{}'"),
    ),
    Mutation(
        "a model makes everybody's models remember something without a human",
        MEMORIES,
        "tools/builtin/memory/memory_store.py",
        'in ("user", "agent") else Tier.ELEVATED',
        'in ("user", "agent") else Tier.WORKSPACE',
    ),
    Mutation(
        "members delete what is remembered for everybody",
        ("tests/keeping/test_memory_pages.py",),
        "tools/keeping/memories.py",
        " and principal.role == Role.OWNER",
        "",
    ),
    # --- a user -----------------------------------------------------------------------------------------------------
    Mutation(
        "members read everybody's calls",
        ("tests/pages/test_history.py", "tests/rest/test_history.py"),
        "tenants/people/principal.py",
        "return self.role in READERS",
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
        "tenants/login/attempts.py",
        "rate=rate or settings.LOGIN_ATTEMPTS, increment=True)",
        "rate=rate or settings.LOGIN_ATTEMPTS, increment=False)",
    ),
    Mutation(
        "a key that is narrowed or expires makes keys",
        ("tests/rest/test_keys.py",),
        "tenants/people/keys.py",
        "    if key is None or key.scopes is not None or key.expires_at is not None:\n        raise NarrowedKey\n",
        "",
    ),
    Mutation(
        "a code of the second factor works twice",
        ("tests/pages/test_second_factor.py",),
        "tenants/login/second_factor/factors.py",
        "if counter is not None and counter > app.data.get(_COUNTER, -1):",
        "if counter is not None:",
    ),
    Mutation(
        "a password logs in whoever has a second factor",
        ("tests/pages/test_second_factor.py",),
        "tenants/login/second_factor/second_step.py",
        "        if factors.of(user) is None:\n",
        "        if True:\n",
    ),
    Mutation(
        "a tenant that asks for a second factor opens without",
        ("tests/pages/test_second_factor.py",),
        "tenants/login/authentication.py",
        "    if second_factor and row[4] and not has_second_factor(request):\n        raise SecondFactorMissing\n",
        "",
    ),
    Mutation(
        "a link for a new password is made of the request's host",
        ("tests/pages/test_password_reset.py",),
        "tenants/login/passwords/reset_pages.py",
        'form.cleaned_data["username"]\n',
        'form.cleaned_data["username"]\n    settings.PUBLIC_URL = f"http://{request.get_host()}"\n',
    ),
    Mutation(
        "the policy of second factors lets everything through",
        ("tests/pages/test_second_factor.py",),
        sql=_open_policy("mfa_authenticator"),
    ),
    Mutation(
        "what raises rights asks nobody again",
        ("tests/pages/test_reauthentication.py",),
        "tenants/login/reauthentication.py",
        "        raise ReauthenticationRequired\n\n\ndef demand_for_key",
        "        return\n\n\ndef demand_for_key",
    ),
    Mutation(
        "a change that raises what may be done is made without the password",
        ("tests/rights/test_asking.py",),
        "tenants/people/changes.py",
        "                raise Unconfirmed\n",
        "                pass\n",
    ),
    Mutation(
        "what a change wrote before the password was asked for stays over REST",
        ("tests/rights/test_asking.py",),
        "tenants/login/views.py",
        "            transaction.set_rollback(True)\n",
        "            pass\n",
    ),
    Mutation(
        "a budget is raised and removed without the password",
        ("tests/rights/test_asking.py",),
        "gateway/budgets/changes.py",
        ', raises=raising.limit_raised("limit")',
        "",
    ),
    Mutation(
        "a form that was held for somebody else goes on",
        ("tests/pages/test_reauthentication.py",),
        "tenants/login/reauthentication.py",
        "sent.items() >= _whose(request).items() and ",
        "",
    ),
    Mutation(
        "sessions are seen by everybody",
        ("tests/pages/test_sessions.py",),
        sql=_open_policy("user_sessions"),
    ),
    Mutation(
        "a changed password leaves other sessions",
        ("tests/pages/test_sessions.py",),
        sql=_function("end_sessions", "user_id = whose", "false"),
    ),
    # --- single sign-on and passkeys -----------------------------------------------------------------------------
    Mutation(
        "an address that equals an account's makes another person of it",
        ("tests/sign_on/test_log_in.py",),
        sql=_function("admit_person", "THEN 'account'", "THEN 'joined'"),
    ),
    Mutation(
        "a domain counts that nobody confirmed",
        ("tests/sign_on/test_log_in.py",),
        sql=_function("find_sign_on", "JOIN confirmed_domains", "LEFT JOIN confirmed_domains"),
    ),
    Mutation(
        "a removed member comes back by single sign-on",
        ("tests/sign_on/test_log_in.py",),
        sql=_function("admit_person", "AND provider.readmits_members"),
    ),
    Mutation(
        "a claim demotes the last owner",
        ("tests/sign_on/test_log_in.py",),
        sql=_function("admit_person", "m.user_id <> person.id AND"),
    ),
    Mutation(
        "a session of one tenant's provider opens all",
        ("tests/sign_on/test_log_in.py",),
        "tenants/login/authentication.py",
        " if only is None or str(row[0]) == only]",
        "]",
    ),
    Mutation(
        "an ID token of another log-in counts",
        ("tests/sign_on/test_liars.py",),
        "gateway/sign_on/id_tokens.py",
        "if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):",
        "if not isinstance(given, str):",
    ),
    Mutation(
        "an unverified address counts",
        ("tests/sign_on/test_log_in.py",),
        "gateway/sign_on/claims.py",
        "(verified is None and provider.trusts_addresses)",
        "provider.trusts_addresses",
    ),
    Mutation(
        "another issuer gets the stored secret",
        ("tests/sign_on/test_settings.py",),
        "gateway/sign_on/setup.py",
        'row.client_secret and "client_secret" not in given',
        "False",
    ),
    Mutation(
        "a passkey answers twice",
        ("tests/pages/test_passkeys.py",),
        "tenants/login/second_factor/passkeys.py",
        "pending = session.pop(PENDING, None)",
        "pending = session.get(PENDING)",
    ),
    Mutation(
        "a copy of a passkey logs in",
        ("tests/pages/test_passkeys.py",),
        "tenants/login/second_factor/passkeys.py",
        "if (counter or known) and counter <= known:",
        "if False:",
    ),
    # --- an OAuth client --------------------------------------------------------------------------------------------
    Mutation(
        "a code or refresh token works twice",
        ("tests/mcp/test_oauth.py",),
        sql=_function("spend_token", "t.spent_at IS NULL AND"),
    ),
    Mutation(
        "a refresh token that comes twice leaves its grant alone",
        ("tests/mcp/test_oauth.py",),
        sql=_function("spend_token", "t.spent_at IS NOT NULL", "false"),
    ),
    Mutation(
        "an expired access token opens",
        ("tests/mcp/test_oauth.py",),
        sql=_function("authenticate_token", "AND t.expires_at > now()"),
    ),
    Mutation(
        "a token for another address opens",
        ("tests/mcp/test_oauth.py",),
        "tenants/login/authentication.py",
        '        if row["resource"] != resource:\n            return None\n',
        "",
    ),
    Mutation(
        "a client's answer goes wherever the request says",
        ("tests/mcp/test_oauth.py",),
        "gateway/oauth/server.py",
        "return redirects.is_allowed(redirect_uri, request.client.get_redirect_uris())",
        "return True",
    ),
    # --- the model --------------------------------------------------------------------------------------------------
    Mutation(
        "the gate kill_switch is skipped",
        ("tests/tools/test_gates.py", "tests/rest/test_kill_switches.py"),
        "tools/gates/order.py",
        "    KillSwitches(),\n",
        "",
    ),
    Mutation(
        "a run begins although a kill switch stops it",
        ("tests/rest/test_kill_switches.py",),
        "gateway/runs/preparation.py",
        '        asking.not_killed(found, member.rights.policy.switches, scope.user_id, member.profile["slug"])\n',
        "",
    ),
    Mutation(
        "a turn is asked for although a kill switch stops it",
        ("tests/rest/test_kill_switches.py",),
        "gateway/runs/live_ports.py",
        "return asking.not_killed(found, known.policy.switches, execution.scope.user_id, execution.caller.agent)",
        "return found",
    ),
    Mutation(
        "a queued call is claimed although a kill switch stops it",
        ("tests/tools/test_kill_switch.py",),
        "audit/calls/sql/claim_tool_call.sql",
        "WHERE c.id = call AND c.status = 'queued' AND killed(c.user_id, c.tool_name, c.agent, c.model) IS NULL",
        "WHERE c.id = call AND c.status = 'queued'",
    ),
    Mutation(
        "a transactional call is begun although a kill switch stops it",
        ("tests/tools/test_kill_switch.py",),
        "audit/calls/sql/lock_tool_call.sql",
        "            IF switch IS NULL THEN\n",
        "            IF true THEN\n",
    ),
    Mutation(
        "a kill switch of an unknown kind stops nothing",
        ("tests/tools/test_kill_switch.py",),
        "tenants/switches/on.py",
        "        # A kind of a later release: what cannot be decided stops.\n        return True",
        "        return False",
    ),
    Mutation(
        "an owner ends what the operator has stopped",
        ("tests/tools/test_kill_switch.py",),
        sql=f"ALTER POLICY app ON kill_switches USING (tenant_id = {rls.TENANT}) WITH CHECK (tenant_id = {rls.TENANT})",
    ),
    Mutation(
        "a request is counted where one of its limits has no room",
        ("tests/tools/test_rate_counter.py",),
        "tools/gates/rate_counter.py",
        "  if fit and ARGV[2] == '1' then",
        "  if fits and ARGV[2] == '1' then",
    ),
    Mutation(
        "requests that change things are let through uncounted",
        ("tests/rest/test_request_limits.py",),
        "gateway/http/request_limits.py",
        "            raise LimitsAway from None\n",
        "            return\n",
    ),
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
        "tools/gates/checks/rules.py",
        "if matches is not False:",
        "if matches:",
    ),
    Mutation(
        "without Redis what changes things goes on",
        ("tests/hostile/test_limits.py",),
        "tools/gates/checks/rate_limit.py",
        "if context.tier(candidate) is Tier.READ_ONLY and not wrong:",
        "if True:",
    ),
    # --- what owners say of agents and tools ------------------------------------------------------------------------
    Mutation(
        "an agent is changed whatever version the change is based on",
        ("tests/agents/test_agents_api.py", "tests/agents/test_agent_pages.py"),
        "gateway/runs/agents/changes.py",
        "if version is not None and version != agent.version:",
        "if False:",
    ),
    Mutation(
        "runs begin with an archived agent",
        ("tests/agents/test_agents_api.py",),
        "gateway/runs/repository.py",
        "LEFT JOIN agents a ON a.archived_at IS NULL",
        "LEFT JOIN agents a ON true",
    ),
    Mutation(
        "everybody tries agents with fields of their own",
        ("tests/agents/test_agent_pages.py",),
        "gateway/rest/agents/testing.py",
        'scope = "admin"',
        'scope = "chat"',
    ),
    Mutation(
        "an owner gives a tool a tier below the operator's",
        ("tests/agents/test_tool_settings_api.py",),
        "tools/settings/changes.py",
        "if least and tier.rank < Tier(least).rank:",
        "if False:",
    ),
    Mutation(
        "a raised tier is taken back without the password",
        ("tests/agents/test_tool_settings_api.py",),
        "gateway/rest/agents/tool_settings.py",
        "if planned.raises:",
        "if False:",
    ),
    Mutation(
        "a tool is allowed without the password",
        ("tests/agents/test_tool_settings_api.py",),
        "tools/settings/recorded.py",
        '(new == "allow" and old != "allow") or ',
        "",
    ),
    Mutation(
        "everybody asks what somebody else may use",
        ("tests/agents/test_tool_settings_api.py",),
        "gateway/rest/tools.py",
        'if "admin" not in me.scopes:',
        "if False:",
    ),
    Mutation(
        "a command finds a service of that slug in any tenant",
        ("tests/agents/test_commands.py",),
        "services/changes.py",
        "services = services.filter(tenant_id=tenant_id) if tenant_id else services",
        "services = services.all()",
    ),
    Mutation(
        "an Idempotency-Key is not compared with its request",
        ("tests/rest/test_tool_call_keys.py",),
        "tools/invocation/once/idempotency.py",
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
            *((table, CHANGES) for table in ("tool_settings", "grants", "agents")),
            *((table, "rights_changed_on_update") for table in ("tenants", "users", "memberships", "approval_rules")),
            *((table, "rights_changed_on_insert_delete") for table in ("memberships", "approval_rules")),
            *(("api_keys", f"rights_changed_on_{change}") for change in ("update", "delete")),
        )
    ),
    Mutation(
        "a remembered key is good whatever became of it",
        ("tests/rest/test_remembered_keys.py",),
        "gateway/runs/preparation.py",
        "if version not in (None, member.version):",
        "if False:",
    ),
    Mutation(
        "a remembered key is refused by what it was",
        ("tests/rest/test_remembered_keys.py",),
        "gateway/runs/lifecycle.py",
        "except (RightsChanged, Refused):",
        "except RightsChanged:",
    ),
    Mutation(
        "a member's own rights are good whatever has changed",
        RIGHTS,
        "approvals/requests/callers_rights.py",
        '    return known.version is not None and known.version == now["rights_version"] and in_time\n',
        "    return known.version is not None and in_time\n",
    ),
    Mutation(
        "what is offered at one hour is offered at every other",
        ("tests/tools/test_offering.py",),
        "tools/invocation/lookup.py",
        "    if policy.conditions:\n",
        "    if False:\n",
    ),
    Mutation(
        "a key that expires is remembered",
        ("tests/rest/test_remembered_keys.py",),
        "tenants/login/remembered.py",
        " AND k.expires_at IS NULL",
        "",
    ),
    Mutation(
        "a key may be twice in an object",
        ("tests/tools/test_arguments.py", "tests/hostile/test_model_arguments.py"),
        "tools/schemas/arguments.py",
        "object_pairs_hook=_object, ",
        "",
    ),
    # --- runs that begin others ---------------------------------------------------------------------------------------
    Mutation(
        "a child reaches tools that the runs above it may not use",
        (f"{CHILDREN}/test_starting.py::test_a_child_may_not_use_what_its_parents_agent_may_not",),
        "gateway/runs/children/starting.py",
        'within = [*_within(parent), parent.profile["tools"]]',
        "within = _within(parent)",
    ),
    Mutation(
        "a run begins as many others as it likes",
        (f"{CHILDREN}/test_starting.py::test_a_run_begins_eight_others_and_no_more",),
        sql=_function("room_for_child", ">= widest", ">= 1000 + widest"),
    ),
    Mutation(
        "what a run gives its children does not count as used",
        (f"{CHILDREN}/test_tokens.py::test_siblings_share_what_is_left_evenly_and_never_have_more_together",),
        sql=_function("run_tokens", "THEN (r.profile ->> 'max_run_tokens')::bigint END", "THEN 0::bigint END"),
    ),
    Mutation(
        "a child may use more tokens than its parent has left",
        (f"{CHILDREN}/test_tokens.py::test_a_child_has_half_of_what_is_left_and_its_parent_is_charged_what_it_used",),
        "gateway/runs/children/starting.py",
        '"max_run_tokens": min(tokens) if tokens else None,',
        '"max_run_tokens": of_agent.get("max_run_tokens"),',
    ),
    Mutation(
        "tokens that nobody knows the number of count as none",
        (f"{CHILDREN}/test_tokens.py::test_what_nobody_knows_counts_as_it_was_reserved",),
        sql=_function("charge_estimate", "WHERE r.id = run.id", "WHERE false"),
    ),
    Mutation(
        "a run goes on when its tokens are spent",
        (f"{CHILDREN}/test_tokens.py::test_a_run_that_has_spent_its_tokens_is_incomplete_with_what_it_said",),
        sql=_function("reserve_turn", "IF most IS NOT NULL THEN", "IF false THEN"),
    ),
    Mutation(
        "money that a run gives its children does not count as used",
        (f"{CHILDREN}/test_money.py::test_siblings_share_the_money_that_is_left_and_never_have_more_together",),
        sql=_function("run_usd", "THEN (r.profile ->> 'max_run_usd')::numeric END", "THEN 0::numeric END"),
    ),
    Mutation(
        "a child may cost more than its parent has left",
        (
            f"{CHILDREN}/test_money.py::test_a_child_has_half_of_the_money_that_is_left_and_gives_back_what_it_did_not_cost",
        ),
        "gateway/runs/children/starting.py",
        '"max_run_usd": plain(min(money)) if money else None,',
        '"max_run_usd": of_agent.get("max_run_usd"),',
    ),
    Mutation(
        "what nobody knows the cost of costs a run nothing",
        (f"{CHILDREN}/test_money.py::test_what_nobody_knows_the_cost_of_counts_as_it_was_reserved",),
        sql=_function("charge_estimate", "(reservation.usage ->> 'cost')::numeric", "0"),
    ),
    Mutation(
        "a run goes on when its money is spent",
        (f"{CHILDREN}/test_money.py::test_a_run_that_has_spent_its_money_is_incomplete_with_what_it_said",),
        sql=_function("reserve_turn", "WHEN granted < least_tokens THEN 'spent' ELSE", "ELSE"),
    ),
    Mutation(
        "a model that nobody knows the price of runs within a limit of money",
        (f"{CHILDREN}/test_money.py::test_a_model_without_a_price_is_refused_where_the_money_of_a_run_is_limited",),
        sql=_function(
            "reserve_turn", "CASE WHEN input_rate IS NULL OR output_rate IS NULL THEN", "CASE WHEN false THEN"
        ),
    ),
    Mutation(
        "the lease of a call that began a run is renewed",
        (f"{CHILDREN}/test_lost.py::test_a_call_that_was_claimed_and_began_a_child_is_nobodys_to_lose",),
        sql=_function("renew_call_leases", "AND r.waits_on_run IS NULL"),
    ),
    Mutation(
        "a call that waits for a run is taken for lost",
        (f"{CHILDREN}/test_lost.py::test_a_call_that_was_claimed_and_began_a_child_is_nobodys_to_lose",),
        "audit/calls/reading.py",
        "lease_until < now() AND waits_on_run IS NULL",
        "lease_until < now()",
    ),
    Mutation(
        "the end of a child that nobody was told of is never found",
        (f"{CHILDREN}/test_lost.py::test_a_parent_that_does_not_hear_of_the_end_of_its_child_is_found_by_the_sweeper",),
        "gateway/runs/children/ending.py",
        "SET unnoted = true, ",
        "SET ",
    ),
    Mutation(
        "a parent takes no note of the ends of its children",
        (f"{CHILDREN}/test_lost.py::test_a_parent_that_does_not_hear_of_the_end_of_its_child_is_found_by_the_sweeper",),
        "gateway/runs/repository.py",
        "c.parent_run_id = run.id AND c.unnoted",
        "false",
    ),
    Mutation(
        "a child goes on after the run above it was cancelled",
        (f"{CHILDREN}/test_cancelling.py",),
        sql=_function("cancel_tree", "WHERE r.parent_run_id = ANY (level)", "WHERE false"),
    ),
    Mutation(
        "a call waits for a human where nobody listens",
        (f"{CHILDREN}/test_approvals.py::test_a_call_that_needs_a_human_is_refused_where_nobody_above_listens",),
        "tools/gates/checks/approval.py",
        "if not policy.asks_humans and not by_arguments:",
        "if False:",
    ),
    Mutation(
        "a child has not read what the run above it has",
        ("tests/gateway/runs/test_sessions.py::test_what_was_read_flows_with_the_message_and_with_its_answer",),
        "gateway/runs/children/starting.py",
        "        await taint.flow(self.connection, scope, **flowing, to_run=new.id)\n",
        "",
    ),
    Mutation(
        "a run has not read what its child has",
        ("tests/gateway/runs/test_sessions.py::test_what_was_read_flows_with_the_message_and_with_its_answer",),
        "gateway/runs/children/ending.py",
        "    await taint.flow(connection, scope, **flowing, to_run=run.parent_run_id)\n",
        "",
    ),
    Mutation(
        "what a child read is unread because its answer has any schema",
        (f"{CHILDREN}/test_closed_answers.py::test_an_answer_by_a_schema_that_a_text_fits_taints_as_any_other",),
        "gateway/runs/children/answers.py",
        "taints = closed.why_open(wanted) is not None",
        "taints = False",
    ),
    Mutation(
        "an answer that does not fit its schema is passed on",
        (f"{CHILDREN}/test_closed_answers.py::test_nothing_is_passed_on_of_an_answer_that_does_not_fit",),
        "gateway/runs/children/answers.py",
        "return value, schema.check(wanted, value) is None",
        "return value, True",
    ),
    Mutation(
        "a schema with alternatives counts as closed",
        ("tests/tools/test_closed_schemas.py",),
        "tools/schemas/closed.py",
        '        raise _Open(f"{at} uses {min(unknown)}")\n',
        "        pass\n",
    ),
    Mutation(
        "what a run told another one is the user's own words",
        ("tests/gateway/runs/test_branching.py::test_what_a_run_told_another_is_nobodys_own_words",),
        "gateway/runs/repository.py",
        "r.parent_run_id IS NULL AS by_person",
        "true AS by_person",
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
        ("tests/tools/test_search.py::test_a_gzip_bomb_is_cut_off",),
        "tools/search/fetch.py",
        "if len(body) > MAX_BYTES:",
        "if False:",
    ),
    Mutation(
        "a provider's words are passed on with keys",
        ("tests/gateway/providers/test_provider_faults.py",),
        "gateway/providers/transport/failures.py",
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
        sql=_function("notify_targets", " AND notify_targets.event = ANY (t.events)"),
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
    # --- access conditions ------------------------------------------------------------------------------------------
    Mutation(
        "a condition that cannot be decided lets a call through",
        ("tests/approvals/test_access_conditions.py",),
        "tools/gates/checks/condition.py",
        "            if met is not True:\n",
        "            if met is False:\n",
    ),
    Mutation(
        "a condition is not asked where tools are listed",
        ("tests/approvals/test_access_conditions.py",),
        "tools/gates/checks/condition.py",
        "    occasions = ASKED | {Occasion.LISTED}\n",
        "    occasions = ASKED\n",
    ),
    Mutation(
        "a message sets the alert level whatever it is signed with",
        ("tests/approvals/test_alert_webhook.py",),
        "approvals/rules/alert_webhook.py",
        "if found is None or not _is_signed(",
        "if found is None or not message_id and _is_signed(",
    ),
    Mutation(
        "a message of the alert level can be sent again",
        ("tests/approvals/test_alert_webhook.py",),
        "approvals/rules/alert_webhook.py",
        "int(sent) <= found.last_sent",
        "int(sent) < 0",
    ),
    # --- many tools -------------------------------------------------------------------------------------------------
    Mutation(
        "a call through tools_call meets the gates as tools_call",
        ("tests/tools/test_offering.py",),
        "tools/invocation/evaluation.py",
        "    suggestion = _of_tool(context.policy, suggestion)\n",
        "",
    ),
    Mutation(
        "a search finds what its user may not call",
        ("tests/services/test_many_tools.py",),
        "gateway/runs/agents/callers_tools.py",
        "evaluation.offered(known.policy, agent, origin)",
        "known.policy.service_tools.values()",
    ),
    # --- MCP --------------------------------------------------------------------------------------------------------
    Mutation(
        "an MCP client is shown every tool",
        ("tests/mcp/test_lists.py",),
        "gateway/mcp/tools.py",
        '    tools = evaluation.offered(await policy_of(context), origin="mcp")\n',
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
        "there is a receipt for a call that a client has run itself",
        ("tests/rest/test_telemetry.py::test_there_is_no_receipt_for_what_toolgate_did_not_run",),
        "audit/evidence/receipts.py",
        "        raise NoReceipt\n",
        "        pass\n",
    ),
    Mutation(
        "a standing stream of an MCP client goes on after its key has ended",
        ("tests/mcp/test_notifications.py::test_a_standing_stream_ends_when_its_key_does",),
        "gateway/mcp/notifications/streams.py",
        "                except Refused:\n                    return\n",
        "                except Refused:\n                    pass\n",
    ),
    Mutation(
        "an MCP client is told of changes of resources that its user may not read any more",
        ("tests/mcp/test_notifications.py::test_nobody_subscribes_to_what_they_may_not_read",),
        "gateway/mcp/notifications/subscriptions.py",
        "        raise offers.unknown_resource(context, uri) from None\n",
        "        return {}\n",
    ),
    Mutation(
        "a call runs although its MCP client hung up before it began",
        ("tests/mcp/test_hanging_up.py::test_a_client_that_hangs_up_cancels_a_call_that_has_not_begun",),
        "gateway/mcp/calls.py",
        "            cancel_later(under_way, call)\n",
        "            pass\n",
    ),
    Mutation(
        "a call that is answered directly runs although its MCP client hung up before it began",
        ("tests/mcp/test_hanging_up.py::test_a_client_that_hangs_up_cancels_a_call_that_has_not_begun",),
        "gateway/mcp/direct.py",
        "        calls.cancel_later(under_way, under_way.beginning)\n",
        "",
    ),
    Mutation(
        "a call is answered by its result alone although its client wants to hear more of it",
        ("tests/mcp/test_direct.py",),
        "gateway/mcp/direct.py",
        '        if params.get("_meta"):\n            return None\n',
        "        pass\n",
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
        "        found = await pending.find(caller, request_hash) if resumes else None\n",
        "        found = None\n",
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
        "            if isinstance(error, psycopg.OperationalError) and not isinstance(error, _OF_THE_ROW):\n",
        "            if error:\n",
    ),
    Mutation(
        "a deadlock stops the sweep",
        ("tests/tools/test_execution.py",),
        "gateway/operations/sweeper.py",
        "            if isinstance(error, psycopg.OperationalError) and not isinstance(error, _OF_THE_ROW):\n",
        "            if isinstance(error, psycopg.OperationalError):\n",
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
        "services/credentials/hiding.py",
        'text = text.replace(secret, "[credential]")',
        "text = text.strip()",
    ),
    Mutation(
        "a service's credential goes to an operation's own server",
        ("tests/services/test_openapi_servers.py",),
        "services/execution/tool.py",
        "ours = not (http.hosts or http.servers) or",
        "ours = not http.hosts or",
    ),
    Mutation(
        "an operation's own server may be inside",
        ("tests/services/test_openapi_servers.py::test_a_server_that_may_not_be_called_is_refused_when_it_is_added",),
        "services/offers/openapi/servers.py",
        'return str(egress.check(url)).rstrip("/")',
        'return url.rstrip("/")',
    ),
    Mutation(
        "a next page at another host is told as arguments",
        ("tests/services/test_pages.py",),
        "services/execution/pages.py",
        "        if not same_origin(url, sent):\n",
        "        if False:\n",
    ),
    Mutation(
        "two arguments of a tool have one name towards a provider",
        ("tests/gateway/providers/translation/test_arguments.py",),
        "gateway/providers/translation/aliases.py",
        "        if not alias or times[alias] > 1 or alias in names:\n",
        "        if not alias:\n",
    ),
    Mutation(
        "arguments that a model sends by their aliases reach the gates so",
        ("tests/gateway/providers/translation/test_arguments.py",),
        "gateway/providers/translation/names.py",
        "return found.from_provider(arguments) if found else arguments",
        "return arguments",
    ),
    # --- credentials ------------------------------------------------------------------------------------------------
    Mutation(
        "an account is connected in another session than the one that began it",
        (f"{TOKENS}::test_an_attempt_is_used_once_by_who_began_it_in_the_session_where_they_did",),
        "services/connections/flow.py",
        "    if (None if session is None else _hash(session)) != (None if begun_in is None else bytes(begun_in)):\n",
        "    if False:\n",
    ),
    Mutation(
        "an answer of the browser is taken whatever server it names",
        (f"{TOKENS}::test_an_answer_of_another_server_or_of_none_connects_nothing",),
        "services/connections/flow.py",
        "        authorization.check_issuer(server, returned.iss)\n",
        "",
    ),
    Mutation(
        "metadata counts whatever issuer it names",
        ("tests/connections/test_hostile_servers.py::test_metadata_that_lies_or_leads_inwards_connects_nobody",),
        "services/oauth/discovery.py",
        '    if found.get("issuer") != issuer:\n',
        "    if False:\n",
    ),
    Mutation(
        "tokens that come for a connection that has ended stay good",
        (f"{TOKENS}::test_who_disconnects_while_a_call_waits_for_a_newer_token_stays_disconnected",),
        "services/credentials/tokens.py",
        "        if not await _stored(scope, row, server, secret, tokens):\n",
        "        if await _stored(scope, row, server, secret, tokens) is None:\n",
    ),
    Mutation(
        "a user is called with the connection of another one",
        (f"{TOKENS}::test_a_user_who_connects_is_called_with_a_token_of_their_own",),
        "services/credentials/rows.py",
        'OWN = "service_id = %(service)s AND user_id IS NOT DISTINCT FROM %(user)s"',
        'OWN = "service_id = %(service)s AND %(user)s::uuid IS NOT NULL"',
        sql=_open_policy("connections"),
    ),
    Mutation(
        "the policy of connections lets other users' through",
        ISOLATION[:1],
        sql=_open_policy("connections"),
    ),
    Mutation(
        "every process that finds a token over asks for a new one",
        (f"{TOKENS}::test_two_processes_that_need_a_new_token_at_once_ask_for_one",),
        "services/credentials/tokens.py",
        "    if not await rows.claim(scope, row):\n",
        "    await rows.claim(scope, row)\n    if False:\n",
    ),
    Mutation(
        "a token that is written over is not the newer one",
        (f"{TOKENS}::test_a_refresh_token_that_somebody_else_has_used_meanwhile_is_read_again",),
        "services/credentials/recorded.py",
        "fence = fence + 1, problem = %s WHERE id = %s AND fence = %s RETURNING id",
        "fence = fence + 1, problem = %s WHERE id = %s AND %s IS NOT NULL RETURNING id",
    ),
    Mutation(
        "connections survive a service's move to another host",
        (f"{TOKENS}::test_a_connection_ends_and_is_revoked_with_what_it_was_for",),
        sql="DROP TRIGGER service_moved ON services",
    ),
    Mutation(
        "servers are not told of tokens that are not used any more",
        (f"{TOKENS}::test_a_connection_ends_and_is_revoked_with_what_it_was_for",),
        sql="DROP TRIGGER connection_ended ON connections",
    ),
    Mutation(
        "a call in a user's name passes without a connection",
        ("tests/services/test_service_connections.py",),
        "tools/gates/checks/connection.py",
        '    if state.state == "connected" and not state.is_over(time.time()):\n',
        "    if True:\n",
    ),
    Mutation(
        "what needs an older key is called done",
        ("tests/connections/test_key_rotation.py",),
        "gateway/management/commands/rotate_encryption_key.py",
        "        if total.old:\n",
        "        if False:\n",
    ),
    Mutation(
        "members add services",
        ("tests/services/test_services_api.py",),
        "gateway/rest/framework/owners.py",
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
    # --- MCP servers ------------------------------------------------------------------------------------------------
    Mutation(
        "a kept connection of one credential is used with another MCP",
        ("tests/tools/test_clients.py",),
        "tools/network/clients.py",
        "repr(sorted(headers.items()))",
        "repr(sorted(headers))",
    ),
    Mutation(
        "a request on a kept connection is sent twice MCP",
        ("tests/tools/test_clients.py",),
        "tools/network/egress.py",
        "        self._session._retry_connection = False\n",
        "        self._session._retry_connection = True\n",
    ),
    Mutation(
        "an MCP server's failure is a success",
        ("tests/services/test_hostile_mcp.py",),
        "services/mcp/results.py",
        "    if failed:\n",
        "    if failed is None:\n",
    ),
    Mutation(
        "an MCP server's resources are anybody's in the tenant",
        ("tests/services/test_mcp_passing_on.py",),
        "services/prompts/passing_on.py",
        '        if concerns(row["slug"], policy, offered)\n',
        '        if row["slug"]\n',
    ),
    Mutation(
        "an MCP server is asked for any address",
        ("tests/services/test_mcp_passing_on.py",),
        "services/prompts/passing_on.py",
        "    holders = listed or [\n",
        "    holders = listed or found or [\n",
    ),
    Mutation(
        "a tool of an MCP server that changed is called again after it failed",
        ("tests/services/test_mcp_drift.py",),
        "services/mcp/tool.py",
        "            if rejected.code in _OF_THE_TOOL:\n",
        "            if rejected.code == 0:\n",
    ),
    Mutation(
        "an MCP server's call is sent on whenever its session has ended",
        ("tests/services/test_mcp_services.py",),
        "services/mcp/connection.py",
        "            except SessionEnded:\n                if last:\n                    raise\n",
        "            except SessionEnded:\n                if last:\n                    return {}\n",
    ),
    Mutation(
        "a tool that calls hosts of a list sends the credential to all of them",
        ("tests/services/test_descriptor_http.py",),
        "services/execution/tool.py",
        "ours = not (http.hosts or http.servers) or elsewhere.same_origin(made.url, self._endpoint.url)",
        "ours = True",
    ),
    Mutation(
        "a tool that calls hosts of a list calls any host",
        ("tests/services/test_descriptor_http.py",),
        "services/execution/elsewhere.py",
        "    if host not in http.hosts:\n",
        "    if not host:\n",
    ),
    Mutation(
        "an answer that says that it failed is a success",
        ("tests/services/test_descriptor_http.py",),
        "services/execution/answers.py",
        "value.get(success) is True",
        "success in value",
    ),
    Mutation(
        "the catalogue switches tools on",
        ("tests/services/test_catalogue.py",),
        "services/changes.py",
        'suggest(tool.name) | {"enabled": False}',
        "suggest(tool.name)",
    ),
    Mutation(
        "a page lets calls do more without a question",
        ("tests/services/test_service_pages.py",),
        "services/web/tool_pages.py",
        'if raised and "confirmed" not in request.POST:',
        'if raised and "asked" in request.POST:',
    ),
    Mutation(
        "members open the settings of owners",
        ("tests/services/test_service_pages.py",),
        "tenants/me/frame.py",
        "if (not each.scope or each.scope in principal.scopes)",
        "if True",
    ),
    # --- providers and models ---------------------------------------------------------------------------------------
    Mutation("the policy of model_providers lets everything through", ISOLATION, sql=_open_policy("model_providers")),
    Mutation(
        "providers of other tenants are found by their names",
        ROUTING,
        sql=_function("model_routing", "m.tenant_id = t.id OR m.tenant_id IS NULL\n                AND", "true AND"),
    ),
    Mutation(
        "the operator's providers are used by tenants that may not",
        ROUTING,
        sql=_function("model_routing", "AND (t.operator_providers IS NULL OR m.slug = ANY (t.operator_providers))"),
    ),
    Mutation(
        "a change of a provider leaves rights as they are",
        ROUTING,
        sql=f"ALTER TABLE model_providers DISABLE TRIGGER {CHANGES}",
    ),
    Mutation(
        "a change of the allowed models leaves rights as they are",
        ("tests/gateway/routing/test_runs.py",),
        sql=f"ALTER TABLE model_settings DISABLE TRIGGER {CHANGES}",
    ),
    Mutation(
        "every model is allowed",
        ROUTING,
        "gateway/providers/routing/resolution.py",
        "return all(allowed is None or patterns.any_matches(allowed, name) for allowed in lists)",
        "return True",
    ),
    Mutation(
        "fallbacks are not held to the allowed models",
        ROUTING,
        "gateway/providers/routing/resolution.py",
        "        self._check(name, own)\n",
        "        if name in (model, environment.default_model) and not name.endswith('m2'):\n"
        "            self._check(name, own)\n",
    ),
    Mutation(
        "a field of the request has the provider choose another model",
        ROUTING,
        "gateway/runs/turns/asking.py",
        "    refuse_other_models(execution, prompt)\n",
        "",
    ),
    Mutation(
        "a cancelled run asks its fallbacks",
        ROUTING,
        "gateway/runs/turns/asking.py",
        "if failure is not None and not await execution.ports.still_ours(execution):",
        "if False:",
    ),
    Mutation(
        "a refused request is asked of a fallback",
        ROUTING,
        "gateway/runs/turns/asking.py",
        "return isinstance(error, ProviderMisconfigured) or not isinstance(error, ProviderRefused)",
        "return True",
    ),
    Mutation(
        "a stopped model is asked",
        ROUTING,
        "gateway/runs/turns/asking.py",
        "zip(candidates, stopped, strict=True) if switch is None)",
        "zip(candidates, stopped, strict=True))",
    ),
    Mutation(
        "a tenant's provider is connected to wherever its name leads",
        PROVIDER_KEYS,
        "gateway/providers/routing/clients.py",
        "guarded=provider.own and bool(provider.base_url)",
        "guarded=False",
    ),
    Mutation(
        "the operator's headers go along to a tenant's provider",
        PROVIDER_KEYS,
        "gateway/providers/openai/provider.py",
        "        if isolated:\n",
        "        if False:\n",
    ),
    Mutation(
        "a provider's key is stored as it is",
        PROVIDER_KEYS,
        "gateway/providers/routing/settings/changes.py",
        "encryption.encrypt(wanted.api_key) if wanted.api_key",
        "wanted.api_key if wanted.api_key",
    ),
    Mutation(
        "a provider's key goes to another host",
        PROVIDERS_REST,
        "gateway/providers/routing/settings/wanted.py",
        "if elsewhere and row.api_key and not wanted.key_given:",
        "if False:",
    ),
    Mutation(
        "a provider's key is shown to owners",
        PROVIDERS_REST,
        "gateway/providers/routing/settings/changes.py",
        '"has_key": bool(row.api_key),',
        '"has_key": bool(row.api_key), "api_key": encryption.decrypt(row.api_key) if row.api_key else "",',
    ),
    # --- money ------------------------------------------------------------------------------------------------------
    Mutation(
        "a turn reserves without a look at what others have reserved",
        (f"{RESERVING}::test_what_others_have_reserved_is_waited_for",),
        sql=_function("reserve_turn", "rest := budget.amount - held.spent - held.reserved", "rest := budget.amount"),
    ),
    Mutation(
        "two turns that reserve at once do not wait for each other",
        (f"{RESERVING}::test_who_reserves_waits_for_another_that_does_and_sees_what_it_took",),
        sql=_function(
            "reserve_turn",
            "starts_at = budget_start(budget.period) FOR UPDATE",
            "starts_at = budget_start(budget.period)",
        ),
    ),
    Mutation(
        "a budget's rest affords a token more",
        (f"{RESERVING}::test_the_answer_may_be_as_long_as_the_rest_affords_to_the_token",),
        sql=_function("tokens_within", "* input_rate, output_rate)) END", "* input_rate, output_rate) + 1) END"),
    ),
    Mutation(
        "a driver that lost its run reserves",
        (f"{RESERVING}::test_a_driver_that_has_lost_its_run_reserves_and_releases_nothing",),
        sql=_function("reserve_turn", "AND r.fence = reserve_turn.fence "),
    ),
    Mutation(
        "a driver that lost its run gives back what another has reserved",
        (f"{RESERVING}::test_a_driver_that_has_lost_its_run_reserves_and_releases_nothing",),
        sql=_function("release_turn", " AND t.fence = release_turn.fence"),
    ),
    Mutation(
        "what a lost driver has reserved stays",
        (f"{RESERVING}::test_what_nobody_settles_is_charged_once_the_run_ends_or_has_another_driver",),
        sql="ALTER TABLE runs DISABLE TRIGGER charge_left_over",
    ),
    Mutation(
        "usage that nobody knows is free",
        (f"{RESERVING}::test_unknown_usage_is_charged_as_it_was_reserved",),
        sql=_function("settle_turn", "(usage -> 'known')::boolean OR reservation.run_id IS NULL", "true"),
    ),
    Mutation(
        "what an earlier asking has reserved is given back unseen",
        (f"{RESERVING}::test_asking_again_charges_what_the_attempt_before_has_reserved",),
        sql=_function(
            "reserve_turn", "PERFORM charge_reserved(run.id)", "PERFORM release_turn(tenant, member, run.id, run.fence)"
        ),
    ),
    Mutation(
        "a model without a price is free under a budget of money",
        (f"{RESERVING}::test_a_model_without_a_price_is_refused_where_money_is_counted_and_only_there",),
        sql=_function(
            "reserve_turn",
            "IF budget.unit = 'usd' AND (input_rate IS NULL OR output_rate IS NULL) THEN",
            "IF false THEN",
        ),
    ),
    Mutation(
        "a spent budget begins runs",
        ("tests/budgets/test_runs.py::test_a_spent_budget_begins_no_run",),
        sql=_function("begin_run", "IF refusal IS NOT NULL THEN RETURN refusal::text; END IF;"),
    ),
    Mutation(
        "another member's budget counts",
        (f"{RESERVING}::test_only_budgets_of_the_tenant_its_member_agent_and_key_count",),
        sql=_function("reserve_turn", "(b.user_id IS NULL OR b.user_id = member)", "true"),
    ),
    Mutation(
        "the answer may be longer than the budget affords",
        ("tests/budgets/test_runs.py::test_a_chat_asks_for_no_more_than_its_budget_affords_and_pays_what_it_used",),
        "gateway/runs/turns/reserving.py",
        "        if granted is not None:\n            prompt =",
        "        if granted is None:\n            prompt =",
    ),
    Mutation(
        "a lost connection costs nothing",
        ("tests/budgets/test_runs.py::test_a_failure_costs_what_was_reserved_only_where_it_may_have_cost_something",),
        "gateway/runs/turns/reserving.py",
        "if not heard and (error.status is not None or not error.sent):",
        "if True:",
    ),
    Mutation(
        "members set budgets",
        ("tests/budgets/test_rest.py::test_members_see_their_own_budgets_and_change_none",),
        "gateway/rest/spend/budgets.py",
        '("GET", "HEAD", "OPTIONS") else "admin"',
        '("GET", "HEAD", "OPTIONS") else "history:read"',
    ),
    Mutation(
        "members see everybody's usage",
        ("tests/budgets/test_rest.py::test_members_see_their_own_usage_and_nobody_sees_another_tenants",),
        "gateway/budgets/usage.py",
        "    if not principal.sees_whole_history:\n",
        "    if False:\n",
    ),
    Mutation(
        "the policy of turn_usage lets everything through",
        ("tests/tenants/test_catalogue.py",),
        sql=_open_policy("turn_usage"),
    ),
    # --- what sessions have read --------------------------------------------------------------------------------------
    Mutation(
        "a call that would send private data away goes on",
        TAINT_GATE,
        "tools/gates/checks/taint.py",
        "        if mode != DENY:\n            return self.passes(holds=True,",
        "        if mode != DENY:\n            return self.passes(holds=False,",
    ),
    Mutation(
        "what a session has read is nothing where it is not known",
        TAINT_GATE,
        "tools/gates/checks/taint.py",
        "if taint is not None and not _besides_feeds(tool, taint).complete:",
        "if taint is None or not _besides_feeds(tool, taint).complete:",
    ),
    Mutation(
        "one destination that the user has named is enough",
        TAINT_GATE,
        "tools/gates/destinations.py",
        "return all(any(pattern.search(text) for text in normal) for pattern in patterns)",
        "return any(any(pattern.search(text) for text in normal) for pattern in patterns)",
    ),
    Mutation(
        "a rule approves what the session's reading holds",
        TAINT_GATE,
        "tools/gates/checks/approval.py",
        "needed == 1 and not taint.holds(candidate, context)",
        "needed == 1",
    ),
    Mutation(
        "what an answer reads is not remembered",
        TAINT_CHATS,
        sql=_function("settle_tool_call", "WHERE cardinality(reads) > 0", "WHERE false"),
    ),
    Mutation(
        "notes forget what was read before them",
        ("tests/taint/test_stored.py",),
        "tools/stores/notes.py",
        "        taint_labels(%s))",
        "        CASE WHEN %s::uuid IS NULL THEN '{}'::text[] ELSE '{}'::text[] END)",
    ),
    Mutation(
        "results of clients' tools are trusted",
        ("tests/taint/test_reading_without_calls.py",),
        "gateway/runs/preparation.py",
        "    for name in answered[:_MOST_CLIENT_TOOLS]:",
        "    for name in answered[:0]:",
    ),
    Mutation(
        "whoever is logged in makes it less strict",
        ("tests/taint/test_setting.py",),
        "tenants/people/recorded.py",
        '_STRICTER[now["taint"]] < _STRICTER[was["taint"]]',
        "False",
    ),
    Mutation(
        "a message goes to any address without asking",
        MESSAGES,
        "tools/builtin/messages/message.py",
        "return Tier.SYSTEM if to in facts.destinations else Tier.ELEVATED",
        "return Tier.SYSTEM",
    ),
    Mutation(
        "a message goes to an address that is no destination any more",
        MESSAGES,
        "notifications/inbox/handles.py",
        "if self._call.tier != Tier.ELEVATED:",
        "if False:",
    ),
    Mutation(
        "a message to a destination stays in the tenant, they say",
        MESSAGES,
        "tools/builtin/messages/message.py",
        'if folded(arguments["to"]) == INBOX else frozenset({Label.LEAVES_TENANT})',
        "",
    ),
    Mutation(
        "a destination needs no proof",
        (*MESSAGES, *DESTINATIONS),
        "notifications/destinations/facts.py",
        '"d.removed_at IS NULL AND d.verified_at IS NOT NULL"',
        '"d.removed_at IS NULL"',
    ),
    Mutation(
        "any answer to a challenge proves a webhook",
        DESTINATIONS,
        "notifications/channels/webhook/challenge.py",
        "if not hmac.compare_digest(_answered(answer.body), challenge.encode()):",
        "if False:",
    ),
    Mutation(
        "the link in an e-mail works for ever",
        DESTINATIONS,
        "notifications/destinations/verifying.py",
        "asked_at__gt=since, verified_at=None",
        "verified_at=None",
    ),
    Mutation(
        "what an erased call has sent stays",
        MESSAGES,
        sql=_function("erase_sent_messages", "SET text = '', operation = NULL,", "SET"),
    ),
    Mutation(
        "a reminder is told by every sweep",
        ("tests/inbox/test_reminders.py",),
        "notifications/inbox/reminders.py",
        "AND fired_at IS NULL AND at <= now()\n",
        "AND at <= now()\n",
    ),
    Mutation(
        "a message forgets what the files that go along had been written after",
        ("tests/inbox/test_media.py",),
        "tools/builtin/messages/message.py",
        'reads = frozenset(sent.pop("taint"))',
        'reads = frozenset(sent.pop("taint")) and frozenset()',
    ),
    *(
        Mutation(f"the policy of {table} lets everything through", ISOLATION[:1], sql=_open_policy(table))
        for table in ("inbox_entries", "destinations", "sent_messages", "reminders")
    ),
    Mutation(
        "a file's content is for everybody in the tenant who knows its id",
        (FILES + "::test_nobody_elses_files_are_reached",),
        sql=_function(
            "file_contents", "AND f.user_id = nullif(current_setting('toolgate.user', true), '')::uuid", "AND true"
        ),
    ),
    Mutation(
        "an attached file's content is for everybody in the tenant who knows its id",
        ("tests/compat/test_attachments.py::test_no_content_of_another_persons_is_read_by_its_id",),
        sql=_function(
            "attached_contents", "AND v.user_id = nullif(current_setting('toolgate.user', true), '')::uuid", "AND true"
        ),
    ),
    Mutation(
        "an attached file leaves no taint in its conversation",
        ("tests/compat/test_attachments.py",),
        "gateway/runs/prompting/attachments.py",
        "labels=tainted | {PRIVATE},",
        "labels={PRIVATE},",
    ),
    Mutation(
        "a tool deletes another person's file",
        (FILES + "::test_what_a_tool_deletes_is_read_no_more_and_its_versions_stay",),
        sql=_function("remove_file", "AND f.user_id = person AND f.id = wanted AND NOT f.deleted", "AND f.id = wanted"),
    ),
    Mutation(
        "a tenant's files may have any size",
        (FILES + "::test_bounds_of_file_conversation_and_tenant_refuse_and_leave_everything",),
        sql=_function("add_file_version", "(total <= most_in_tenant) IS NOT TRUE", "false"),
    ),
    Mutation(
        "a file forgets what was read before it was written",
        (FILES + "::test_a_file_remembers_what_was_read_before_it_was_written",),
        sql=_function("add_file_version", "|| taint_labels(conversation) ", ""),
    ),
    Mutation(
        "a change of a file overwrites another that it has not seen",
        ("tests/files/test_api.py::test_what_was_changed_since_it_was_read_is_left",),
        sql=_function("add_file_version", "IF replaced <> version THEN", "IF false THEN"),
    ),
    Mutation(
        "a file that was uploaded counts as its user's own words",
        ("tests/files/test_api.py::test_a_file_that_a_person_uploaded_was_written_by_anybody",),
        "tools/keeping/files.py",
        "body, seen, _WRITTEN_BY_ANYBODY)",
        "body, seen, frozenset())",
    ),
    Mutation(
        "writing a file and deleting its conversation wait for each other",
        (FILES + "::test_who_writes_waits_for_the_deletion_of_the_conversation_and_holds_nothing_of_it",),
        sql="DROP TRIGGER hold_conversation ON file_workspaces",
    ),
    Mutation(
        "the feeds of a service pass calls of another one that has its name now",
        ("tests/services/test_service_prompts.py::test_feeds_in_a_prompt_are_read_by_the_session",),
        "services/execution/tool.py",
        "left(encode(sha256(convert_to(s.id || ' ' || s.url, 'UTF8')), 'hex'), 12)",
        "s.slug::text",
    ),
    Mutation(
        "the feeds of a service pass calls that lead elsewhere",
        ("tests/services/test_service_prompts.py::test_feeds_in_a_prompt_are_read_by_the_session",),
        "services/catalogue.py",
        "THEN {PLACE} ELSE '' END",
        "THEN {PLACE} ELSE {PLACE} END",
    ),
    Mutation(
        "the feeds of one service say nothing about another",
        TAINT_GATE,
        "tools/gates/checks/taint.py",
        "if each.source != tool.own_feeds))",
        'if not each.source.startswith("feeds of ")))',
    ),
)
