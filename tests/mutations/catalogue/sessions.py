"""Runs that begin others, and schedules."""

from tests.mutations.catalogue.mutation import Mutation, function

CHILDREN = "tests/gateway/runs/children"

MUTATIONS = (
    # --- runs that begin others ---------------------------------------------------------------------------------------
    Mutation(
        "a child reaches tools that the runs above it may not use",
        (f"{CHILDREN}/test_starting.py::test_a_child_may_not_use_what_its_parents_agent_may_not",),
        "gateway/runs/children/starting.py",
        'within = [*_within(parent), parent.profile["tools"]]',
        "within = _within(parent)",
    ),
    Mutation(
        "a run that is being parked misses the end of its child",
        (
            f"{CHILDREN}/test_lost.py::"
            "test_a_child_that_ends_while_its_parent_is_being_parked_wakes_it_without_hint_or_sweeper",
        ),
        "gateway/runs/turns/calls.py",
        "                if moved:",
        "                if False:",
    ),
    Mutation(
        "a run that its driver has ended is taken for lost",
        (
            f"{CHILDREN}/test_lost.py::"
            "test_a_child_that_has_ended_wakes_its_parent_although_leases_are_renewed_meanwhile",
        ),
        sql=function(
            "renew_run_leases", "USING (id, fence)), free", "USING (id, fence) WHERE r.status = 'in_progress'), free"
        ),
    ),
    Mutation(
        "a run begins as many others as it likes",
        (f"{CHILDREN}/test_starting.py::test_a_run_begins_eight_others_and_no_more",),
        sql=function("room_for_child", ">= widest", ">= 1000 + widest"),
    ),
    Mutation(
        "what a run gives its children does not count as used",
        (f"{CHILDREN}/test_tokens.py::test_siblings_share_what_is_left_evenly_and_never_have_more_together",),
        sql=function("run_tokens", "THEN (r.profile ->> 'max_run_tokens')::bigint END", "THEN 0::bigint END"),
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
        sql=function("charge_estimate", "WHERE r.id = run.id", "WHERE false"),
    ),
    Mutation(
        "a run goes on when its tokens are spent",
        (f"{CHILDREN}/test_tokens.py::test_a_run_that_has_spent_its_tokens_is_incomplete_with_what_it_said",),
        sql=function("reserve_turn", "IF most IS NOT NULL THEN", "IF false THEN"),
    ),
    Mutation(
        "money that a run gives its children does not count as used",
        (f"{CHILDREN}/test_money.py::test_siblings_share_the_money_that_is_left_and_never_have_more_together",),
        sql=function("run_usd", "THEN (r.profile ->> 'max_run_usd')::numeric END", "THEN 0::numeric END"),
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
        sql=function("charge_estimate", "(reservation.usage ->> 'cost')::numeric", "0"),
    ),
    Mutation(
        "a run goes on when its money is spent",
        (f"{CHILDREN}/test_money.py::test_a_run_that_has_spent_its_money_is_incomplete_with_what_it_said",),
        sql=function("reserve_turn", "WHEN granted < least_tokens THEN 'spent' ELSE", "ELSE"),
    ),
    Mutation(
        "a model that nobody knows the price of runs within a limit of money",
        (f"{CHILDREN}/test_money.py::test_a_model_without_a_price_is_refused_where_the_money_of_a_run_is_limited",),
        sql=function(
            "reserve_turn", "CASE WHEN input_rate IS NULL OR output_rate IS NULL THEN", "CASE WHEN false THEN"
        ),
    ),
    Mutation(
        "the lease of a call that began a run is renewed",
        (f"{CHILDREN}/test_lost.py::test_a_call_that_was_claimed_and_began_a_child_is_nobodys_to_lose",),
        sql=function("renew_call_leases", "AND r.waits_on_run IS NULL"),
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
        sql=function("cancel_tree", "WHERE r.parent_run_id = ANY (level)", "WHERE false"),
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
        "gateway/runs/reading.py",
        "r.parent_run_id IS NULL AS by_person",
        "true AS by_person",
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
    Mutation(
        "a stream tells of what a crash of the database may lose",
        ("tests/gateway/runs/test_durability.py",),
        "gateway/runs/preparation.py",
        "told = request.streams or request.idempotency_key is not None",
        "told = request.idempotency_key is not None",
    ),
    Mutation(
        "a run under a key may be lost",
        ("tests/gateway/runs/test_durability.py",),
        "gateway/runs/preparation.py",
        "told = request.streams or request.idempotency_key is not None",
        "told = request.streams",
    ),
    Mutation(
        "a turn whose call waits for a human may be lost",
        ("tests/gateway/runs/test_durability.py",),
        "gateway/runs/repository.py",
        """    durable = told or connection is not None
    held = {""",
        """    durable = told
    held = {""",
    ),
    Mutation(
        "whoever waits for a run that is lost waits for ever",
        ("tests/gateway/runs/test_durability.py",),
        "gateway/runs/lifecycle/following.py",
        "            except NoSuchRun:\n",
        "            except ZeroDivisionError:\n",
    ),
)
