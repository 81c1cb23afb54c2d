"""Toolgate as an MCP server."""

from tests.mutations.catalogue.mutation import Mutation

MUTATIONS = (
    # --- MCP ----------------------------------------------------------------------------------------------------------
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
        "gateway/mcp/calls/tasks.py",
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
        "gateway/mcp/calls/calling.py",
        "            cancel_later(under_way, call)\n",
        "            pass\n",
    ),
    Mutation(
        "a call that is answered directly runs although its MCP client hung up before it began",
        ("tests/mcp/test_hanging_up.py::test_a_client_that_hangs_up_cancels_a_call_that_has_not_begun",),
        "gateway/mcp/calls/direct.py",
        "        calling.cancel_later(under_way, under_way.beginning)\n",
        "",
    ),
    Mutation(
        "a call is answered by its result alone although its client wants to hear more of it",
        ("tests/mcp/test_direct.py",),
        "gateway/mcp/calls/direct.py",
        '        if params.get("_meta"):\n            return None\n',
        "        pass\n",
    ),
    Mutation(
        "a web process that ends cancels the calls of its MCP clients",
        ("tests/mcp/test_hanging_up.py::test_a_web_process_that_ends_cancels_nothing",),
        "gateway/mcp/calls/calling.py",
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
    # --- what is said beside results ----------------------------------------------------------------------------------
    Mutation(
        "a web process serves before it hears what its calls say",
        ("tests/gateway/runs/test_wakeups.py::test_a_web_process_hears_what_calls_say_before_it_serves_anybody",),
        "gateway/config/asgi.py",
        "            await wakeups.waits().listening()\n",
    ),
    Mutation(
        "a process drives a run before it hears how its calls end",
        ("tests/gateway/runs/test_wakeups.py::test_a_process_takes_no_run_over_before_it_hears_how_its_calls_end",),
        "gateway/runs/lifecycle/driving.py",
        "    await waits().listening()\n",
    ),
    # --- streams ------------------------------------------------------------------------------------------------------
    Mutation(
        "a slow reader is sent the rest of a turn without the rest of its text",
        ("tests/rest/test_slow_readers.py",),
        "gateway/rest/chat/answers.py",
        "list(events.after(view, at))",
        "events.after(view, at)",
    ),
    Mutation(
        "a stream ends when its run does, whatever has been sent",
        ("tests/rest/test_slow_readers.py",),
        "gateway/rest/chat/answers.py",
        "                if at.ended or left == 0:\n",
        "                if view.final or at.ended or left == 0:\n",
    ),
    Mutation(
        "a stream of a compatible API fails before all is sent that was said",
        ("tests/compat/test_slow_readers.py",),
        "gateway/compat/serving.py",
        "sent.new(view) + writer.error",
        "writer.error",
    ),
)
