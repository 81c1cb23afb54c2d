"""Providers, models, and money."""

from tests.mutations.catalogue.mutation import CHANGES, ISOLATION, Mutation, function, open_policy

RESERVING = "tests/budgets/test_reservations.py"
ROUTING = ("tests/gateway/routing/test_runs.py",)
PROVIDER_KEYS = ("tests/gateway/routing/test_keys.py",)
PROVIDERS_REST = ("tests/gateway/routing/test_rest.py",)

MUTATIONS = (
    # --- providers and models -----------------------------------------------------------------------------------------
    Mutation("the policy of model_providers lets everything through", ISOLATION, sql=open_policy("model_providers")),
    Mutation(
        "providers of other tenants are found by their names",
        ROUTING,
        sql=function("model_routing", "m.tenant_id = t.id OR m.tenant_id IS NULL\n                AND", "true AND"),
    ),
    Mutation(
        "the operator's providers are used by tenants that may not",
        ROUTING,
        sql=function("model_routing", "AND (t.operator_providers IS NULL OR m.slug = ANY (t.operator_providers))"),
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
    # --- money --------------------------------------------------------------------------------------------------------
    Mutation(
        "a turn reserves without a look at what others have reserved",
        (f"{RESERVING}::test_what_others_have_reserved_is_waited_for",),
        sql=function("reserve_turn", "rest := budget.amount - held.spent - held.reserved", "rest := budget.amount"),
    ),
    Mutation(
        "two turns that reserve at once do not wait for each other",
        (f"{RESERVING}::test_who_reserves_waits_for_another_that_does_and_sees_what_it_took",),
        sql=function(
            "reserve_turn",
            "starts_at = budget_start(budget.period) FOR UPDATE",
            "starts_at = budget_start(budget.period)",
        ),
    ),
    Mutation(
        "a budget's rest affords a token more",
        (f"{RESERVING}::test_the_answer_may_be_as_long_as_the_rest_affords_to_the_token",),
        sql=function("tokens_within", "* input_rate, output_rate)) END", "* input_rate, output_rate) + 1) END"),
    ),
    Mutation(
        "a driver that lost its run reserves",
        (f"{RESERVING}::test_a_driver_that_has_lost_its_run_reserves_and_releases_nothing",),
        sql=function("reserve_turn", "AND r.fence = reserve_turn.fence "),
    ),
    Mutation(
        "a driver that lost its run gives back what another has reserved",
        (f"{RESERVING}::test_a_driver_that_has_lost_its_run_reserves_and_releases_nothing",),
        sql=function("release_turn", " AND t.fence = release_turn.fence"),
    ),
    Mutation(
        "what a lost driver has reserved stays",
        (f"{RESERVING}::test_what_nobody_settles_is_charged_once_the_run_ends_or_has_another_driver",),
        sql="ALTER TABLE runs DISABLE TRIGGER charge_left_over",
    ),
    Mutation(
        "usage that nobody knows is free",
        (f"{RESERVING}::test_unknown_usage_is_charged_as_it_was_reserved",),
        sql=function("settle_turn", "(usage -> 'known')::boolean OR reservation.run_id IS NULL", "true"),
    ),
    Mutation(
        "what an earlier asking has reserved is given back unseen",
        (f"{RESERVING}::test_asking_again_charges_what_the_attempt_before_has_reserved",),
        sql=function(
            "reserve_turn", "PERFORM charge_reserved(run.id)", "PERFORM release_turn(tenant, member, run.id, run.fence)"
        ),
    ),
    Mutation(
        "a model without a price is free under a budget of money",
        (f"{RESERVING}::test_a_model_without_a_price_is_refused_where_money_is_counted_and_only_there",),
        sql=function(
            "reserve_turn",
            "IF budget.unit = 'usd' AND (input_rate IS NULL OR output_rate IS NULL) THEN",
            "IF false THEN",
        ),
    ),
    Mutation(
        "a spent budget begins runs",
        ("tests/budgets/test_runs.py::test_a_spent_budget_begins_no_run",),
        sql=function("begin_run", "IF refusal IS NOT NULL THEN RETURN refusal::text; END IF;"),
    ),
    Mutation(
        "another member's budget counts",
        (f"{RESERVING}::test_only_budgets_of_the_tenant_its_member_agent_and_key_count",),
        sql=function("reserve_turn", "(b.user_id IS NULL OR b.user_id = member)", "true"),
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
        sql=open_policy("turn_usage"),
    ),
)
