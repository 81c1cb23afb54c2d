"""The offline demo model: no AI, just a few rules, so that Toolgate can be tried without any key."""

import asyncio
import json
import re
from typing import Any

from gateway.providers.demo import rules, summary
from gateway.providers.demo import script as demo_script
from gateway.providers.interface import (
    Answer,
    AssistantMessage,
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

LABEL = "I am Toolgate's offline demo model: no AI, just a few rules."
_PAUSE = 0.005
_WORD = re.compile(r"\s*\S+")


class DemoProvider:
    """A deterministic model that answers the last user message by rules.

    It understands requests such as "search the web for …", "note: …", "what are my tasks?", "add a task to buy
    milk by 2026-12-01 with high priority" and "send an email to bob@example.com saying …", also several in one
    message, and suggests a call only for tools in the prompt.

    For tests and demonstrations a message can also spell out the calls to suggest, one a line:

        call: TOOL_NAME {json arguments}
        call: TOOL_NAME {json arguments}
        then:
        call: TOOL_NAME {json arguments}

    Everything after the tool's name, up to the end of the line, is the raw text of the arguments and is neither
    parsed nor corrected; nothing there means `{}`. The tool need not exist. The calls before a line `then:`
    make one turn, those after it the next. All other lines of such a message are ignored.
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

    async def close(self) -> None:
        """Nothing is open."""


def _answer(prompt: Prompt) -> Answer:
    last = max((at for at, message in enumerate(prompt.messages) if isinstance(message, UserMessage)), default=-1)
    said = prompt.messages[last] if last >= 0 else None
    text = said.text if isinstance(said, UserMessage) else ""
    since = prompt.messages[last + 1 :]
    turn = sum(1 for message in since if isinstance(message, AssistantMessage) and message.calls)
    script = demo_script.turns(text)
    if script:
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
    parts = [*_summaries(since), *remarks] or [_help(prompt)]
    words = "\n\n".join([*parts, LABEL])
    return Answer(words, (), "stop", _usage(prompt, words, ()))


def _planned(text: str, prompt: Prompt, since: tuple[PromptMessage, ...]) -> tuple[demo_script.Turns, list[str]]:
    """The turns that the rules find in `text`, as far as the prompt's tools allow, and remarks on the rest."""
    plan = rules.plan(text)
    allowed = {tool.name for tool in prompt.tools}
    wanted = [name for name, _ in plan.calls] + (["save_note"] if plan.note_of_findings else [])
    missing = dict.fromkeys(name for name in wanted if name not in allowed)
    remarks = [*plan.remarks, *(f"I would use {name}, but I may not use it here." for name in missing)]
    first = [(name, _json(arguments)) for name, arguments in plan.calls if name in allowed]
    turns = [first] if first else []
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
    return turns, remarks


def _json(arguments: dict[str, Any]) -> str:
    # Escaped to ASCII, so that whatever a message holds can be written.
    return json.dumps(arguments, separators=(",", ":"))


def _summaries(since: tuple[PromptMessage, ...]) -> list[str]:
    arguments = {
        call.id: call.arguments for message in since if isinstance(message, AssistantMessage) for call in message.calls
    }
    return [
        summary.summary(message.name, arguments.get(message.call_id, ""), message.content)
        for message in since
        if isinstance(message, ToolMessage)
    ]


_EXAMPLES = {
    "web_search": '"search the web for the history of tea"',
    "save_note": '"note: the key is under the mat"',
    "list_tasks": '"what are my tasks?"',
    "add_task": '"add a task to buy milk by 2026-12-01 with high priority"',
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
