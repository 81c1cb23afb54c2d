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
    UserMessage,
)
from tests.gateway.providers.conftest import tool
from tests.gateway.providers.demo import TOOLS, ok, prompt, results

FOUND = {"results": [{"title": "Tea", "url": "https://tea.example", "snippet": "A drink."}]}


async def calls(text: str, *since: PromptMessage) -> list[tuple[str, Any]]:
    answer = await DemoProvider().ask(prompt(text, *since))
    assert answer.finish_reason == ("tool_calls" if answer.calls else "stop")
    return [(call.name, orjson.loads(call.arguments)) for call in answer.calls]


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
    async def took(characters: int) -> float:
        asked = prompt("add a task " + text * (characters // len(text)))
        began = time.process_time()
        answer = await DemoProvider().ask(asked)
        assert len(answer.calls) <= 20
        return time.process_time() - began

    # Sixteen times the text costs about sixteen times as much, and would cost 256 times where each place is tried anew.
    short = min([await took(20_000) for _ in range(3)])
    assert await took(320_000) < 100 * max(short, 0.0005)


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
