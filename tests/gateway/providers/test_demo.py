import time
from typing import Any

import orjson
import pytest

from gateway.providers.demo.provider import DemoProvider
from gateway.providers.demo.summary import LABEL
from gateway.providers.interface import (
    Answer,
    AssistantMessage,
    Prompt,
    PromptMessage,
    SuggestedCall,
    ToolMessage,
    UserMessage,
)
from tests.gateway.providers.conftest import tool

TOOLS = tuple(tool(name) for name in ("web_search", "save_note", "list_tasks", "add_task", "send_email"))
FOUND = {"results": [{"title": "Tea", "url": "https://tea.example", "snippet": "A drink."}]}


def prompt(text: str, *since: PromptMessage, tools: tuple[Any, ...] = TOOLS) -> Prompt:
    return Prompt("demo", (UserMessage(text), *since), "system", tools)


async def calls(text: str, *since: PromptMessage) -> list[tuple[str, Any]]:
    answer = await DemoProvider().ask(prompt(text, *since))
    assert answer.finish_reason == ("tool_calls" if answer.calls else "stop")
    return [(call.name, orjson.loads(call.arguments)) for call in answer.calls]


def results(answer: Answer, *contents: object) -> list[PromptMessage]:
    """The answer's turn and what its calls came to."""
    shown = [
        ToolMessage(call.id, call.name, orjson.dumps(content).decode())
        for call, content in zip(answer.calls, contents, strict=True)
    ]
    return [AssistantMessage(answer.text, answer.calls), *shown]


def ok(data: object) -> dict[str, Any]:
    return {"ok": True, "data": data}


def _child(content: object, **more: object) -> dict[str, object]:
    """What a tool answers that has begun a run."""
    return {"content": content, "run_id": "r", "status": "completed", "incomplete_reason": None} | more


def refused(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": message}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("search the web for the history of tea", [("web_search", {"query": "the history of tea"})]),
        ("Search for tea.", [("web_search", {"query": "tea"})]),
        (
            "Save a note titled Groceries: milk, eggs and bread",
            [("save_note", {"title": "Groceries", "content": "milk, eggs and bread"})],
        ),
        ("Please look up green tea, please", [("web_search", {"query": "green tea"})]),
        (
            "note: buy milk, and search for tea",
            [("save_note", {"title": "buy milk, and search for tea", "content": "buy milk, and search for tea"})],
        ),
        (
            "Save a note that the key is under the mat",
            [("save_note", {"title": "the key is under the mat", "content": "the key is under the mat"})],
        ),
        ("what are my tasks?", [("list_tasks", {"status": "all"})]),
        ("Show me my open tasks", [("list_tasks", {"status": "pending"})]),
        ("list completed to-dos", [("list_tasks", {"status": "completed"})]),
        (
            "add a task to buy milk by 2026-12-01 with high priority",
            [("add_task", {"title": "buy milk", "due_date": "2026-12-01", "priority": "high"})],
        ),
        (
            "Create a low priority task: water the plants",
            [("add_task", {"title": "water the plants", "priority": "low"})],
        ),
        (
            "remind me to call Bob on 2026-12-01T10:00:00Z",
            [("add_task", {"title": "call Bob", "due_date": "2026-12-01T10:00:00Z"})],
        ),
        (
            "Send an email to bob@example.com saying the report is done.",
            [
                (
                    "send_email",
                    {"to": "bob@example.com", "subject": "the report is done.", "body": "the report is done."},
                )
            ],
        ),
        (
            "please email bob@example.com about Lunch: shall we look up a place?",
            [("send_email", {"to": "bob@example.com", "subject": "Lunch", "body": "shall we look up a place?"})],
        ),
        (
            "write an e-mail to bob@example.com, with the subject Tea, saying that I search for tea",
            [("send_email", {"to": "bob@example.com", "subject": "Tea", "body": "I search for tea"})],
        ),
        (
            "add a task to buy milk and send an email to bob@example.com saying hello",
            [
                ("add_task", {"title": "buy milk"}),
                ("send_email", {"to": "bob@example.com", "subject": "hello", "body": "hello"}),
            ],
        ),
        (
            "search for tea and add a task to drink it, then show my tasks",
            [
                ("web_search", {"query": "tea"}),
                ("add_task", {"title": "drink it"}),
                ("list_tasks", {"status": "all"}),
            ],
        ),
        (
            "search for tea and save a note about coffee",
            [("web_search", {"query": "tea"}), ("save_note", {"title": "coffee", "content": "coffee"})],
        ),
    ],
)
async def test_a_plain_request_becomes_calls(text: str, expected: list[tuple[str, Any]]) -> None:
    assert await calls(text) == expected


async def test_a_note_of_what_a_search_finds_waits_for_the_search() -> None:
    text = "search for tea and save a note"
    demo = DemoProvider()
    first = await demo.ask(prompt(text))
    assert [(call.name, call.arguments) for call in first.calls] == [("web_search", '{"query":"tea"}')]
    since = results(first, ok(FOUND))
    second = await demo.ask(prompt(text, *since))
    [note] = second.calls
    assert note.name == "save_note"
    assert orjson.loads(note.arguments) == {"title": "Search: tea", "content": "- Tea (https://tea.example): A drink."}
    assert note.id != first.calls[0].id
    since += results(second, ok({"note_id": "1", "saved": True}))
    last = await demo.ask(prompt(text, *since))
    assert last == Answer(
        'I searched the web for "tea" and found 1 result:\n- Tea (https://tea.example): A drink.\n\n'
        f'I saved the note "Search: tea".\n\n{LABEL}',
        (),
        "stop",
        last.usage,
    )


async def test_no_note_is_saved_of_a_search_that_was_refused() -> None:
    text = "search for tea and save a note"
    first = await DemoProvider().ask(prompt(text))
    last = await DemoProvider().ask(prompt(text, *results(first, refused("rate_limited", "10 a minute."))))
    assert last.calls == ()
    assert last.text == (
        "web_search was called too often, please wait a little: 10 a minute.\n\n"
        f"There was nothing to save a note of.\n\n{LABEL}"
    )


async def test_results_are_summed_up_in_words() -> None:
    text = "add a task to buy milk and show my tasks and search for tea"
    first = await DemoProvider().ask(prompt(text))
    tasks = {"tasks": [{"id": "1", "title": "buy milk", "due_date": "2026-12-01", "status": "pending"}]}
    since = results(first, ok({"task_id": "1", "created": True}), ok(tasks), {**ok({"results": []}), "truncated": True})
    last = await DemoProvider().ask(prompt(text, *since))
    assert last.text == (
        'I added the task "buy milk".\n\n'
        "You have 1 task:\n- buy milk (pending, due 2026-12-01)\n\n"
        'I searched the web for "tea" and found no results.\n(The result was cut.)\n\n' + LABEL
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (refused("approval_denied", ""), "t was not approved."),
        (refused("something_new", "Because."), "t did not work: Because."),
        ({"ok": False, "error": "odd"}, "t did not work."),
        (ok([1, 2]), "t answered: [1,2]"),
        (ok(None), "t answered: null"),
        (ok(_child(f"Milk is out.\n\n{LABEL}")), "The worker answered: Milk is out."),
        (ok(_child({"found": 2})), 'The worker answered: {"found":2}'),
        (ok(_child("")), "The worker answered nothing."),
        (
            ok(_child("One of two.", status="incomplete", incomplete_reason="time")),
            "The worker stopped at a limit (time). So far it had said: One of two.",
        ),
        (ok(_child("", status="cancelled")), "The worker did not finish (cancelled)."),
        ("odd", "t answered something that I cannot read."),
        ([], "t answered something that I cannot read."),
    ],
)
async def test_any_result_can_be_told(content: object, words: str) -> None:
    first = await DemoProvider().ask(prompt("call: t {}"))
    last = await DemoProvider().ask(prompt("call: t {}", *results(first, content)))
    assert last.text == f"{words}\n\n{LABEL}"


async def test_a_tool_that_is_not_in_the_prompt_is_not_suggested() -> None:
    answer = await DemoProvider().ask(prompt("search for tea and show my tasks", tools=(tool("list_tasks"),)))
    assert [call.name for call in answer.calls] == ["list_tasks"]
    answer = await DemoProvider().ask(prompt("search for tea", tools=()))
    assert answer.calls == ()
    assert answer.text == f"I would use web_search, but I may not use it here.\n\n{LABEL}"


@pytest.mark.parametrize(
    "text", ["hello", "", "search", "add a task", "save a note", "send an email to bob@example.com", "email to Bob"]
)
async def test_what_no_rule_fits_gets_help_and_no_call(text: str) -> None:
    answer = await DemoProvider().ask(prompt(text))
    assert answer.calls == ()
    assert "for example" in answer.text
    assert answer.text.endswith(LABEL)


@pytest.mark.parametrize(
    "text",
    [
        "what ",
        "search x ",
        "search x\n",
        " ",
        "add a task to by ",
        "with a ",
        "note:",
        "\ud800",
        "email a@b ",
        "email a@",
        "email a@b about x ",
        "email a@b.,;:",
    ],
)
async def test_a_long_message_costs_little(text: str) -> None:
    asked = prompt("add a task " + text * (300_000 // len(text)))
    began = time.process_time()
    answer = await DemoProvider().ask(asked)
    assert time.process_time() - began < 1
    assert len(answer.calls) <= 20


async def test_only_the_last_message_counts() -> None:
    messages = (UserMessage("search for tea"), AssistantMessage("Found."), UserMessage("what are my tasks?"))
    answer = await DemoProvider().ask(Prompt("demo", messages, tools=TOOLS))
    assert [call.name for call in answer.calls] == ["list_tasks"]


async def test_a_script_says_exactly_which_calls_to_suggest() -> None:
    raw = '{"query": "\u2028", "query": NaN, {{  '
    first = f"ignored\ncall: web_search {raw}\ncall: no.such/tool\r\n"
    text = f"{first}then:\ncall: add_task  [1]\nthen:\nthen:\nsearch for tea"
    demo = DemoProvider()
    first = await demo.ask(prompt(text, tools=()))
    assert first.calls == (
        SuggestedCall("demo_1_1", "web_search", raw),
        SuggestedCall("demo_1_2", "no.such/tool", "{}"),
    )
    since = results(first, refused("validation_error", "no"), refused("not_allowed", "no"))
    second = await demo.ask(prompt(text, *since, tools=()))
    assert second.calls == (SuggestedCall("demo_4_1", "add_task", " [1]"),)
    since += results(second, refused("validation_error", "no"))
    third = await demo.ask(prompt(text, *since, tools=()))
    assert (third.calls, third.finish_reason) == ((), "stop")


async def test_the_same_question_gets_the_same_answer() -> None:
    asked = prompt("search for tea and show my tasks")
    assert await DemoProvider().ask(asked) == await DemoProvider().ask(asked)


async def test_the_answer_streams_word_by_word() -> None:
    heard: list[str] = []
    streamed = await DemoProvider().ask(prompt("hello"), heard.append)
    assert streamed == await DemoProvider().ask(prompt("hello"))
    assert "".join(heard) == streamed.text
    assert len(heard) == len(streamed.text.split())


async def test_usage_is_an_estimate_of_four_characters_a_token() -> None:
    answer = await DemoProvider().ask(Prompt("demo", (UserMessage("x" * 400),), "y" * 40))
    assert answer.usage.input_tokens == 110
    assert answer.usage.output_tokens == len(answer.text) // 4


async def test_a_prompt_without_a_user_message_is_answered() -> None:
    assert (await DemoProvider().ask(Prompt("demo", ()))).text.endswith(LABEL)


WITH_KEEPING = (*TOOLS, *(tool(name) for name in ("search_notes", "complete_task", "update_task")))


async def test_notes_are_searched_and_what_is_found_is_said() -> None:
    model = DemoProvider()
    first = await model.ask(prompt("Search my notes for the key.", tools=WITH_KEEPING))
    assert [(call.name, orjson.loads(call.arguments)) for call in first.calls] == [
        ("search_notes", {"query": "the key"})
    ]
    found = {"notes": [{"note_id": "1", "title": "Key", "snippet": "Under the mat."}]}
    said = await model.ask(prompt("Search my notes for the key.", *results(first, ok(found)), tools=WITH_KEEPING))
    assert said.text.startswith('I found 1 note for "the key":\n- Key: Under the mat.')


async def test_something_is_remembered_and_said_again() -> None:
    model, tools = DemoProvider(), (*WITH_KEEPING, tool("memory_store"), tool("memory_search"))
    asked = {
        "Keep in mind that the office closes at six.": ("memory_store", {"content": "the office closes at six"}),
        "Remember for everyone: search the web first": (
            "memory_store", {"content": "search the web first", "scope": "tenant"},
        ),
        "What do you remember about the office?": ("memory_search", {"query": "the office"}),
        "Remember that the key is under the mat": (
            "save_note", {"title": "the key is under the mat", "content": "the key is under the mat"},
        ),
    }  # fmt: skip
    for text, call in asked.items():
        first = await model.ask(prompt(text, tools=tools))
        assert [(each.name, orjson.loads(each.arguments)) for each in first.calls] == [call]
    text = "What do you remember about the office?"
    first = await model.ask(prompt(text, tools=tools))
    found = ok({"memories": [{"memory_id": "1", "content": "It closes at six."}]})
    said = await model.ask(prompt(text, *results(first, found), tools=tools))
    assert said.text.startswith('I remember 1 thing about "the office":\n- It closes at six.')


async def test_a_task_is_completed_by_its_title() -> None:
    model, text = DemoProvider(), "complete the task buy milk"
    first = await model.ask(prompt(text, tools=WITH_KEEPING))
    assert [call.name for call in first.calls] == ["list_tasks"]
    listed = ok({"tasks": [{"id": "7", "title": "Buy milk"}, {"id": "8", "title": "Call"}]})
    second = await model.ask(prompt(text, *results(first, listed), tools=WITH_KEEPING))
    assert [(call.name, orjson.loads(call.arguments)) for call in second.calls] == [("complete_task", {"task_id": "7"})]
    done = results(second, ok({"task_id": "7", "completed": True}))
    last = await model.ask(prompt(text, *results(first, listed), *done, tools=WITH_KEEPING))
    assert "I completed the task." in last.text and not last.calls


async def test_a_task_that_is_not_there_is_not_completed() -> None:
    model, text = DemoProvider(), "complete the task buy milk"
    first = await model.ask(prompt(text, tools=WITH_KEEPING))
    last = await model.ask(prompt(text, *results(first, ok({"tasks": []})), tools=WITH_KEEPING))
    assert not last.calls and 'You have no open task "buy milk".' in last.text


async def test_a_page_is_fetched_by_its_address() -> None:
    tools = (*WITH_KEEPING, tool("web_fetch"))
    for text in ("fetch https://a.test/?search=x.", "Please open the page https://a.test/?search=x and note: x"):
        first = await DemoProvider().ask(prompt(text, tools=tools))
        assert (first.calls[0].name, orjson.loads(first.calls[0].arguments)) == (
            "web_fetch", {"url": "https://a.test/?search=x"},
        )  # fmt: skip
    first = await DemoProvider().ask(prompt("fetch https://example.com/", tools=tools))
    page = ok({"url": "https://example.com/", "title": "Example", "text": "Hello."})
    last = await DemoProvider().ask(prompt("fetch https://example.com/", *results(first, page), tools=tools))
    assert last.text.startswith('I fetched "Example" (https://example.com/):\nHello.')


WITH_MESSAGES = (*TOOLS, tool("message"), tool("create_reminder"))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("message me: the report is done", ("message", {"to": "inbox", "text": "the report is done"})),
        (
            "Message Team saying that we search for tea",
            ("message", {"to": "Team", "text": "we search for tea"}),
        ),
        ("please send a message to bob@example.com: hi", ("message", {"to": "bob@example.com", "text": "hi"})),
        (
            "remind me at 2027-01-01T09:00:00+01:00 to call Bob.",
            ("create_reminder", {"text": "call Bob", "at": "2027-01-01T09:00:00+01:00"}),
        ),
        (
            "remind me to call Bob at 2027-01-01T09:00:00Z",
            ("create_reminder", {"text": "call Bob", "at": "2027-01-01T09:00:00Z"}),
        ),
    ],
    ids=["me", "destination", "address", "at", "to-at"],
)
async def test_messages_and_reminders_are_asked_for_in_plain_words(said: str, expected: tuple[str, object]) -> None:
    answer = await DemoProvider().ask(prompt(said, tools=WITH_MESSAGES))
    assert [(call.name, orjson.loads(call.arguments)) for call in answer.calls] == [expected]


async def test_a_reminder_in_a_while_is_at_a_moment_from_now() -> None:
    from datetime import UTC, datetime, timedelta

    answer = await DemoProvider().ask(prompt("Remind me to stretch in 90 minutes", tools=WITH_MESSAGES))
    [call] = answer.calls
    given = orjson.loads(call.arguments)
    away = datetime.fromisoformat(given["at"]) - datetime.now(UTC)
    assert call.name == "create_reminder" and given["text"] == "stretch"
    assert timedelta(minutes=80) < away <= timedelta(minutes=90)


async def test_words_and_numbers_are_drawn() -> None:
    tools = (*WITH_KEEPING, tool("canvas"))
    drawn = []
    for text in ("Draw <b>a cat</b>", "plot tea and milk: tea 3, milk 2.5 and salt: 1"):
        first = await DemoProvider().ask(prompt(text, tools=tools))
        assert [call.name for call in first.calls] == ["canvas"]
        drawn.append(orjson.loads(first.calls[0].arguments))
    words, bars = drawn
    assert (words["title"], "<p>&lt;b&gt;a cat&lt;/b&gt;</p>" in words["html"]) == ("<b>a cat</b>", True)
    assert bars["title"] == "tea and milk"
    assert "<dl><dt>tea</dt><dd>3</dd><dt>milk</dt><dd>2.5</dd><dt>salt</dt><dd>1</dd></dl>" in bars["html"]
    long = await DemoProvider().ask(prompt("draw x: " + "a " * 400_000, tools=tools))
    assert 2000 < len(long.calls[0].arguments) < 5000
    nothing = await DemoProvider().ask(prompt("draw", tools=tools))
    assert not nothing.calls and "Please say what to draw" in nothing.text
