"""What a model asks for."""

from tenants.scope import rls
from tests.mutations.catalogue.mutation import Mutation

GATES = ("tests/tools/test_gates.py", "tests/tools/test_tiers.py", "tests/hostile/test_model_calls.py")

MUTATIONS = (
    # --- the model ----------------------------------------------------------------------------------------------------
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
        "a count is answered before it is written",
        ("tests/tools/test_rate_counter.py",),
        "gateway/embedded/services/valkey.py",
        '"appendfsync no"',
        '"appendfsync everysec"',
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
    # --- many tools ---------------------------------------------------------------------------------------------------
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
    # --- access conditions --------------------------------------------------------------------------------------------
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
)
