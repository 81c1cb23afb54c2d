"""What sessions have read, and where messages and files may take it."""

from tests.mutations.catalogue.mutation import ISOLATION, Mutation, function, open_policy

TAINT_GATE = ("tests/taint/test_gate.py",)
TAINT_CHATS = ("tests/taint/test_chats.py",)
MESSAGES = ("tests/inbox/test_messages.py",)
DESTINATIONS = ("tests/inbox/test_destinations.py",)
FILES = "tests/files/test_tools.py"

MUTATIONS = (
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
        sql=function("settle_tool_call", "WHERE cardinality(reads) > 0", "WHERE false"),
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
        sql=function("erase_sent_messages", "SET text = '', operation = NULL,", "SET"),
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
        Mutation(f"the policy of {table} lets everything through", ISOLATION[:1], sql=open_policy(table))
        for table in ("inbox_entries", "destinations", "sent_messages", "reminders")
    ),
    Mutation(
        "a file's content is for everybody in the tenant who knows its id",
        (FILES + "::test_nobody_elses_files_are_reached",),
        sql=function(
            "file_contents", "AND f.user_id = nullif(current_setting('toolgate.user', true), '')::uuid", "AND true"
        ),
    ),
    Mutation(
        "an attached file's content is for everybody in the tenant who knows its id",
        ("tests/compat/test_attachments.py::test_no_content_of_another_persons_is_read_by_its_id",),
        sql=function(
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
        sql=function("remove_file", "AND f.user_id = person AND f.id = wanted AND NOT f.deleted", "AND f.id = wanted"),
    ),
    Mutation(
        "a tenant's files may have any size",
        (FILES + "::test_bounds_of_file_conversation_and_tenant_refuse_and_leave_everything",),
        sql=function("add_file_version", "(total <= most_in_tenant) IS NOT TRUE", "false"),
    ),
    Mutation(
        "a file forgets what was read before it was written",
        (FILES + "::test_a_file_remembers_what_was_read_before_it_was_written",),
        sql=function("add_file_version", "|| taint_labels(conversation) ", ""),
    ),
    Mutation(
        "a change of a file overwrites another that it has not seen",
        ("tests/files/test_api.py::test_what_was_changed_since_it_was_read_is_left",),
        sql=function("add_file_version", "IF replaced <> version THEN", "IF false THEN"),
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
