"""What one tenant or user must not have of another."""

from tests.mutations.catalogue.mutation import ISOLATION, Mutation, function, open_policy

OWNERS = ("tests/audit/test_owners.py",)
MEMORIES = ("tests/keeping/test_memories.py",)
MEANING = ("tests/gateway/embeddings/test_meaning.py",)

MUTATIONS = (
    # --- another tenant -----------------------------------------------------------------------------------------------
    Mutation("row security of notes is not forced", ISOLATION, sql="ALTER TABLE notes NO FORCE ROW LEVEL SECURITY"),
    Mutation("row security of notes is off", ISOLATION, sql="ALTER TABLE notes DISABLE ROW LEVEL SECURITY"),
    Mutation("the policy of notes lets everything through", ISOLATION[1:], sql=open_policy("notes")),
    Mutation("the policy of tool_calls lets everything through", ISOLATION[1:], sql=open_policy("tool_calls")),
    Mutation("the policy of runs lets everything through", ISOLATION[1:], sql=open_policy("runs")),
    Mutation(
        "the policy of approval_requests lets everything through",
        ("tests/approvals/test_reading.py", "tests/approvals/test_deciding.py"),
        sql=open_policy("approval_requests"),
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
        sql=open_policy("memories"),
    ),
    Mutation(
        "what is remembered with one agent is given to every agent",
        MEMORIES,
        sql=function("find_memories", "f.terms @@ (given && asked)", "f.terms @@ asked"),
    ),
    Mutation(
        "what is remembered with one agent is found by its meaning by every agent",
        MEANING,
        sql=function("find_memories_by_meaning", "OR g.agent = of_agent", "OR true"),
    ),
    Mutation(
        "what is embedded of a note outlives its words",
        MEANING,
        sql=function("embed_later", "SET vector = NULL, model = '',", "SET"),
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
        sql=function("charge_embedding", "OR held.spent + held.reserved + amount > budget.amount"),
    ),
    Mutation(
        "a memory forgets what was read before it was stored",
        MEMORIES,
        sql=function("store_memory", "taint_labels(conversation)", "'{}'"),
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
    # --- a user -------------------------------------------------------------------------------------------------------
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
        sql=open_policy("mfa_authenticator"),
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
        sql=open_policy("user_sessions"),
    ),
    Mutation(
        "a changed password leaves other sessions",
        ("tests/pages/test_sessions.py",),
        sql=function("end_sessions", "user_id = whose", "false"),
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
        sql=function("hold_owner", "FOR KEY SHARE"),
    ),
    Mutation(
        "a call is written for a user who went",
        OWNERS,
        sql=function("hold_owner", "IF NOT FOUND THEN", "IF false THEN"),
    ),
)
