"""What owners say of agents and tools, and two who change a setting at once."""

from tests.mutations.catalogue.mutation import CHANGES, Mutation, function

RIGHTS = ("tests/gateway/runs/test_rights_versions.py", "tests/gateway/runs/test_remembered_rights.py")

MUTATIONS = (
    # --- what owners say of agents and tools --------------------------------------------------------------------------
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
        "gateway/runs/reading.py",
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
        sql=function("rights_hold", "coalesce(rights_version(of_tenant) = version, false) AND"),
    ),
    Mutation(
        "calls are recorded by a rule that has expired meanwhile",
        RIGHTS,
        sql=function("rights_hold", "AND coalesce(valid_until > now(), true)"),
    ),
    Mutation(
        "a turn is recorded by whatever rights",
        RIGHTS,
        sql=function("commit_turn", "holds := rights_hold(tenant, version, valid_until)", "holds := true"),
    ),
    Mutation(
        "a run begins by what its agent was",
        RIGHTS,
        sql=function("begin_run", "rights_version(tenant) IS DISTINCT FROM version", "false"),
    ),
    Mutation(
        "a run begins by rights of no version",
        RIGHTS,
        sql=function(
            "begin_run", "rights_version(tenant) IS DISTINCT FROM version", "rights_version(tenant) <> version"
        ),
    ),
    Mutation(
        "rights of no version hold",
        RIGHTS,
        sql=function(
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
        "gateway/runs/lifecycle/beginning.py",
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
)
