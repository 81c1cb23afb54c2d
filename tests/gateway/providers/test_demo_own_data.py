"""The demo model with notes, memories, tasks, pages, messages and pictures."""

import orjson
import pytest

from gateway.providers.demo.provider import DemoProvider
from tests.gateway.providers.conftest import tool
from tests.gateway.providers.demo import TOOLS, ok, prompt, results

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
