"""The offline demo model: no AI, just a few rules, so that Toolgate can be tried without any key."""

import asyncio
import json
import re
from typing import Any

from gateway.providers.demo import meaning, rules, seeing, summary
from gateway.providers.demo import script as demo_script
from gateway.providers.demo.summary import LABEL
from gateway.providers.interface import (
    Answer,
    AssistantMessage,
    Embedded,
    Family,
    OnOpaque,
    OnText,
    Prompt,
    PromptMessage,
    SuggestedCall,
    ToolMessage,
    Usage,
    UserMessage,
)

_PAUSE = 0.005
_FINDERS = {"tools_search", "tools_call"}
_WORD = re.compile(r"\s*\S+")


class DemoProvider:
    """A deterministic model that answers the last user message by rules.

    It understands requests such as "search the web for …", "fetch https://…", "draw bars: tea 3, coffee 5", "note: …",
    "search my notes for …", "write a file plan.md: …", "what are my tasks?", "complete the task …", "every weekday at 9
    list my open tasks", "list my schedules", "add a task to buy milk by 2026-12-01 with high priority", "remind me in
    10 minutes to …", "message me: …", "message Team saying …" and "send an email to bob@example.com saying …", also
    several in one message, and suggests a call only for tools in the prompt.

    Of pictures and PDFs that are attached to a message it says the type and the size.

    For tests and demonstrations a message can also spell out the calls to suggest, one a line:

        call: TOOL_NAME {json arguments}
        call: TOOL_NAME {json arguments}
        then:
        call: TOOL_NAME {json arguments}

    Everything after the tool's name, up to the end of the line, is the raw text of the arguments and is neither
    parsed nor corrected; nothing there means `{}`. The tool need not exist. The calls before a line `then:`
    make one turn, those after it the next. A line `answer: TEXT` is what the model says in the end. All other lines of
    such a message are ignored.
    """

    name = "offline"
    family: Family = "demo"
    model = "demo"

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Answer by rule; with `on_text` word by word."""
        answer = _answer(prompt)
        if on_text is not None:
            for word in _WORD.findall(answer.text):
                on_text(word)
                await asyncio.sleep(_PAUSE)
        return answer

    async def embed(self, model: str, texts: list[str]) -> Embedded:
        """Vectors by rules, see `meaning`; they have as many tokens as words."""
        return Embedded([meaning.vector(text) for text in texts], sum(len(text.split()) for text in texts))

    async def close(self) -> None:
        """Nothing is open."""


def _answer(prompt: Prompt) -> Answer:
    last = max((at for at, message in enumerate(prompt.messages) if isinstance(message, UserMessage)), default=-1)
    said = prompt.messages[last] if last >= 0 else None
    text = said.text if isinstance(said, UserMessage) else ""
    since = prompt.messages[last + 1 :]
    turn = sum(1 for message in since if isinstance(message, AssistantMessage) and message.calls)
    script = demo_script.turns(text)
    if script or demo_script.answer(text) is not None:
        turns: demo_script.Turns = script
        remarks: list[str] = []
    else:
        turns, remarks = _planned(text, prompt, since)
    if turn < len(turns):
        calls = tuple(
            # Unique in the whole conversation, and the same each time the same question is asked.
            SuggestedCall(f"demo_{len(prompt.messages)}_{position}", name, arguments)
            for position, (name, arguments) in enumerate(turns[turn], 1)
        )
        words = f"I will use {' and '.join(dict.fromkeys(call.name for call in calls))}."
        return Answer(words, calls, "tool_calls", _usage(prompt, words, calls))
    if (spelled := demo_script.answer(text)) is not None:
        return Answer(spelled, (), "stop", _usage(prompt, spelled, ()))
    seen = seeing.seen(said.parts) if isinstance(said, UserMessage) else []
    parts = [*seen, *_summaries(since), *remarks] or [_help(prompt)]
    words = "\n\n".join([*parts, LABEL])
    return Answer(words, (), "stop", _usage(prompt, words, ()))


def _planned(text: str, prompt: Prompt, since: tuple[PromptMessage, ...]) -> tuple[demo_script.Turns, list[str]]:
    """The turns that the rules find in `text`, as far as the prompt's tools allow, and remarks on the rest."""
    plan = rules.plan(text)
    allowed = {tool.name for tool in prompt.tools}
    wanted = [name for name, _ in plan.calls] + (["save_note"] if plan.note_of_findings else [])
    wanted += ["complete_task"] if plan.tasks_done else []
    missing = dict.fromkeys(name for name in wanted if name not in allowed)
    remarks = [*plan.remarks, *(f"I would use {name}, but I may not use it here." for name in missing)]
    first = [(name, _json(arguments)) for name, arguments in plan.calls if name in allowed]
    turns = [first] if first else []
    if missing and allowed >= _FINDERS:
        return _found(plan, list(missing), since), list(plan.remarks)
    if plan.note_of_findings and allowed >= {"web_search", "save_note"}:
        found = [
            findings
            for message in since
            if isinstance(message, ToolMessage) and message.name == "web_search"
            if (findings := summary.findings(message.content))
        ]
        if found:
            note = {"title": f"Search: {plan.note_of_findings}"[:200], "content": "\n".join(found)}
            turns.append([("save_note", _json(note))])
        elif since:
            remarks.append("There was nothing to save a note of.")
    if plan.tasks_done and allowed >= {"list_tasks", "complete_task"}:
        listed = [
            tasks
            for message in since
            if isinstance(message, ToolMessage) and message.name == "list_tasks"
            if (tasks := summary.tasks(message.content)) is not None
        ]
        if listed:
            done, unknown = _done(plan.tasks_done, listed[0])
            remarks += [f'You have no open task "{title}".' for title in unknown]
            turns += [done] if done else []
    return turns, remarks


def _done(titles: list[str], listed: list[dict[str, Any]]) -> tuple[list[tuple[str, str]], list[str]]:
    """The calls that complete the tasks of these titles, and the titles that no task has."""
    by_title = {str(task.get("title", "")).casefold(): task.get("id") for task in reversed(listed)}
    known = [by_title[title.casefold()] for title in titles if title.casefold() in by_title]
    calls = [("complete_task", _json({"task_id": task_id})) for task_id in known]
    return calls, [title for title in titles if title.casefold() not in by_title]


def _found(plan: rules.Plan, missing: list[str], since: tuple[PromptMessage, ...]) -> demo_script.Turns:
    """The plan's calls where its tools are not shown: search for them first, and call what was found."""
    turns = [[("tools_search", _json({"query": name, "limit": 1})) for name in missing]]
    answers = [message.content for message in since if isinstance(message, ToolMessage)]
    if not answers:
        return turns
    found = {name for name in missing if any(f'"name":"{name}"' in answer for answer in answers)}
    calls = [
        ("tools_call", _json({"name": name, "arguments": arguments})) if name in missing else (name, _json(arguments))
        for name, arguments in plan.calls
        if name in found or name not in missing
    ]
    return [*turns, calls] if calls else turns


def _json(arguments: dict[str, Any]) -> str:
    # Escaped to ASCII, so that whatever a message holds can be written.
    return json.dumps(arguments, separators=(",", ":"))


def _summaries(since: tuple[PromptMessage, ...]) -> list[str]:
    arguments = {
        call.id: call.arguments for message in since if isinstance(message, AssistantMessage) for call in message.calls
    }
    return [
        summary.summary(*_called(message.name, arguments.get(message.call_id, "")), message.content)
        for message in since
        if isinstance(message, ToolMessage) and message.name != "tools_search"
    ]


def _called(name: str, arguments: str) -> tuple[str, str]:
    """The tool that was called, also through tools_call, and its arguments."""
    if name != "tools_call":
        return name, arguments
    given = json.loads(arguments)
    return given["name"], json.dumps(given["arguments"])


_EXAMPLES = {
    "web_search": '"search the web for the history of tea"',
    "web_fetch": '"fetch https://example.com/"',
    "canvas": '"draw bars: tea 3, coffee 5"',
    "save_note": '"note: the key is under the mat"',
    "list_tasks": '"what are my tasks?"',
    "search_notes": '"search my notes for the key"',
    "memory_store": '"keep in mind that the office closes at six"',
    "memory_search": '"what do you remember about the office?"',
    "complete_task": '"complete the task buy milk"',
    "add_task": '"add a task to buy milk by 2026-12-01 with high priority"',
    "schedule": '"every weekday at 9 in Europe/Berlin list my open tasks"',
    "list_schedules": '"list my schedules"',
    "write_file": '"write a file plan.md: buy milk"',
    "list_files": '"list the files"',
    "edit_file": '"in the file plan.md replace “milk” by “tea”"',
    "delete_file": '"delete the file plan.md"',
    "message": '"message me: the report is done"',
    "create_reminder": '"remind me in 10 minutes to stretch"',
    "send_email": '"send an email to bob@example.com saying the report is done"',
}


def _help(prompt: Prompt) -> str:
    examples = [_EXAMPLES[tool.name] for tool in prompt.tools if tool.name in _EXAMPLES]
    if not examples:
        return "I did not find anything that I can do with that, and I may not use any tool that I know here."
    return f"I did not find anything that I can do with that. Try for example {', or '.join(examples)}."


def _usage(prompt: Prompt, words: str, calls: tuple[SuggestedCall, ...]) -> Usage:
    """An estimate: four characters a token."""
    asked = len(prompt.system) + sum(len(tool.name) + len(tool.description) for tool in prompt.tools)
    for message in prompt.messages:
        if isinstance(message, ToolMessage):
            asked += len(message.content)
        else:
            asked += len(message.text)
            if isinstance(message, AssistantMessage):
                asked += sum(len(call.name) + len(call.arguments) for call in message.calls)
    answered = len(words) + sum(len(call.name) + len(call.arguments) for call in calls)
    return Usage(asked // 4, answered // 4)
