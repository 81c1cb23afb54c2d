"""What only holds since one of two waits for the other: rights, money and room, when two ask at once."""

from tests.mutations.catalogue.mutation import Mutation, function

AT_ONCE = "tests/test_at_once.py"
RULES = "approvals/rules/evaluation.py"
VOTES = "tests/approvals/test_votes.py"
WAITS = f"{VOTES}::test_the_last_approval_waits_for_a_change_of_an_earlier_author_that_is_under_way"

MUTATIONS = (
    # --- rights -------------------------------------------------------------------------------------------------------
    Mutation(
        "a decision does not wait for another about the same request",
        ("tests/approvals/test_deciding.py",),
        "approvals/requests/repository.py",
        "FROM approval_requests WHERE id = %s FOR UPDATE",
        "FROM approval_requests WHERE id = %s",
    ),
    Mutation(
        "who is just being demoted votes",
        (WAITS,),
        sql=function("lock_deciders", "FOR SHARE OF m, u", "FOR SHARE OF u"),
    ),
    Mutation(
        "an account that is just being closed votes",
        (WAITS,),
        sql=function("lock_deciders", "FOR SHARE OF m, u", "FOR SHARE OF m"),
    ),
    Mutation(
        "a rule that is just being switched off approves",
        ("tests/approvals/test_rules.py",),
        RULES,
        " FOR SHARE OF r), locked",
        "), locked",
    ),
    Mutation(
        "two owners remove each other",
        (f"{AT_ONCE}::test_who_is_just_being_removed_by_another_owner_removes_nobody",),
        sql=function("change_member", "ORDER BY m.user_id FOR UPDATE", "ORDER BY m.user_id"),
    ),
    Mutation(
        "claims demote the last two owners at once",
        (f"{AT_ONCE}::test_log_ins_that_demote_the_last_two_owners_leave_one",),
        sql=function("admit_person", "ORDER BY m.user_id FOR UPDATE", "ORDER BY m.user_id"),
    ),
    Mutation(
        "somebody new who logs in twice at once is refused",
        (f"{AT_ONCE}::test_somebody_new_who_logs_in_twice_at_once_is_one_person",),
        sql=function("admit_person", "given_issuer || ' ' || given_subject, 0)", "gen_random_uuid()::text, 0)"),
    ),
    Mutation(
        "two accounts have names that differ in case alone",
        (f"{AT_ONCE}::test_of_two_new_accounts_whose_names_differ_in_case_one_is_made",),
        sql=function("accept_invitation", "PERFORM pg_advisory_xact_lock(hashtext('toolgate new account'));"),
    ),
    Mutation(
        "two copies of a passkey log in at once",
        ("tests/pages/test_passkeys.py::test_of_two_copies_of_a_device_that_answer_at_once_one_logs_in",),
        "tenants/login/second_factor/passkeys.py",
        "second sees what the first has counted.\n    rows = list(Authenticator.objects.select_for_update().filter(",
        "second sees what the first has counted.\n    rows = list(Authenticator.objects.filter(",
    ),
    Mutation(
        "the second of two who edit an agent overwrites the first",
        (f"{AT_ONCE}::test_an_edit_of_an_agent_that_another_is_just_changing_is_refused",),
        "gateway/runs/agents/changes.py",
        'cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"agents {tenant_id}"])',
        "pass",
    ),
    Mutation(
        "invitations that are made at once are more than there may be",
        (f"{AT_ONCE}::test_an_invitation_that_is_made_at_once_with_the_last_is_one_too_many",),
        "tenants/members/invitations.py",
        'cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])',
        "pass",
    ),
    Mutation(
        "a destination that is just being removed is verified",
        (f"{AT_ONCE}::test_a_destination_that_is_just_being_removed_is_not_verified",),
        "notifications/destinations/verifying.py",
        "row = own(principal).select_for_update().filter(pk=found.pk,",
        "row = own(principal).filter(pk=found.pk,",
    ),
    Mutation(
        "two accept one invitation at once",
        ("tests/members/test_invitations.py::test_of_two_who_accept_it_at_once_one_joins",),
        sql=function("accept_invitation", "WHERE i.token_hash = given FOR UPDATE", "WHERE i.token_hash = given"),
    ),
    Mutation(
        "two answers to a round of questions are both the last",
        ("tests/questions/test_direct_calls.py",),
        "approvals/questions/repository.py",
        "ORDER BY position FOR UPDATE",
        "ORDER BY position",
    ),
    Mutation(
        "a run that is just being cancelled asks its user",
        ("tests/gateway/runs/children/test_cancelling.py",),
        "gateway/runs/repository.py",
        "AS is_open FROM runs WHERE id = %s FOR SHARE",
        "AS is_open FROM runs WHERE id = %s",
    ),
    Mutation(
        "a call that is being run is cancelled, or its cancel waits for its end",
        ("tests/tools/test_execution.py",),
        "audit/calls/recorder.py",
        "status = 'queued' ORDER BY id FOR UPDATE SKIP LOCKED)",
        "status = 'queued' ORDER BY id)",
    ),
    Mutation(
        "a second use of a token locks the token before its grant",
        (f"{AT_ONCE}::test_a_grant_that_ends_while_a_token_is_used_twice_ends_once",),
        sql=function("spend_token", "FOR UPDATE OF g"),
    ),
    Mutation(
        "a member who ends a grant locks its tokens before it",
        (f"{AT_ONCE}::test_a_grant_that_ends_while_a_token_is_used_twice_ends_once",),
        "tenants/models/clients.py",
        'ClientGrant, on_delete=models.DO_NOTHING, related_name="tokens"',
        'ClientGrant, on_delete=models.CASCADE, related_name="tokens"',
    ),
    Mutation(
        "what forgets tokens waits for a grant that is used in this moment",
        (f"{AT_ONCE}::test_a_grant_that_is_used_or_ended_in_this_moment_is_forgotten_the_next_time",),
        sql=function("forget_tokens", "FOR UPDATE SKIP LOCKED", "FOR UPDATE"),
    ),
    # --- money and room -----------------------------------------------------------------------------------------------
    Mutation(
        "a driver whose run is just being taken over reserves",
        ("tests/budgets/test_reservations.py",),
        sql=function("reserve_turn", "r.status = 'in_progress' FOR UPDATE", "r.status = 'in_progress'"),
    ),
    Mutation(
        "texts that are embedded at once use a budget's rest twice",
        ("tests/budgets/test_reservations.py",),
        sql=function("charge_embedding", "budget_start(budget.period) FOR UPDATE", "budget_start(budget.period)"),
    ),
    Mutation(
        "children that begin at once are more than there may be",
        ("tests/gateway/runs/children/test_starting.py",),
        sql=function("room_for_child", "FOR NO KEY UPDATE"),
    ),
    Mutation(
        "a memory that is stored at once with the last is stored",
        (f"{AT_ONCE}::test_a_memory_that_is_stored_at_once_with_the_last_is_one_too_many",),
        sql=function("store_memory", "PERFORM pg_advisory_xact_lock(", "PERFORM abs("),
    ),
)
