"""The demo model's rules: from a plain request to the tool calls that would answer it."""

import re
from dataclasses import dataclass, field
from typing import Any

_TRIGGER = re.compile(
    r"""
    (?P<list_tasks>\b(?:what(?:'s|\ is|\ are)?|show|list|see)\b[^.;?\n]{0,60}?\b(?:tasks|to-?dos?|to-?do\ list)\b\??)
  | (?P<add_task>\b(?:add|create|make|new)\s+(?:an?\s+|the\s+)?(?:new\s+)?(?:(?:low|medium|high)[- ]priority\s+)?
        (?:task|to-?do)\b\s*(?:to\b|for\b|called\b|:)?|\bremind\ me\ to\b)
  | (?P<save_note>\b(?:save|make|take|write|add|create)\s+(?:(?:it|this|that|them)\s+(?:as|in|to)\s+)?(?:an?\s+|the\s+)?
        note\b\s*(?:about\b|on\b|that\b|of\b|with\b|saying\b|:)?|\bnote\s*:|\bremember\ that\b)
  | (?P<send_email>\b(?:send|write)\s+(?:an?\s+|the\s+)?e-?mail\s+to\b|\be-?mail\s+(?=[^\s@]{1,64}@))
  | (?P<web_search>\b(?:search|google|look\s+up|find(?!\s+my))\b(?:\s+(?:on\s+)?the\s+(?:web|internet)|\s+online)?
        \s*(?:for\b|about\b|:)?)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DATE = re.compile(
    r"\b(?:by|due|until|before|on)\s+(\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?)",
    re.IGNORECASE,
)
_PRIORITY = re.compile(
    r"\b(?:with\s+)?(?:a\s+)?(?:(low|medium|high)[- ]priority|priority[: ]\s*(low|medium|high))\b", re.IGNORECASE
)
_FINDINGS = re.compile(r"(?:(?:about|of|with|on)\s+)?(?:it|them|that|this|(?:the|what)\b.*)?", re.IGNORECASE)
_TITLED = re.compile(r"(?:titled|called|named)\s+([^:\n]{1,60}?)\s*:\s*(\S.*)", re.IGNORECASE | re.DOTALL)
_MAIL = re.compile(
    r"""([^\s@]{1,64}@[^\s@]*[^\s@.,;:])[,;:]?
        (?:\s+(?:with\s+)?(?:the\s+)?(?:subject|about|titled)\b:?\s+(?P<subject>[^\n]{1,100}?)[,;]?)?
        (?:\s+(?:and\s+)?(?:saying|that\s+says|with\s+the\s+(?:text|body))\b(?:\s+that\b)?\s*:?|\s*:)\s*(?P<body>\S.*)""",
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST_TITLE = 60
_EDGES = " \t\r,;:.?!"
_CONNECTORS = {"and", "then", "also", "please"}
_READ = 4000
"""Characters of a line in which requests are looked for; what they ask for may be longer."""
_MOST_CALLS = 20


@dataclass(slots=True)
class Plan:
    """The calls of the first turn, the title of a note that waits for a search, and what was not said clearly."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    note_of_findings: str | None = None
    remarks: list[str] = field(default_factory=list)


def plan(message: str) -> Plan:
    """What `message` asks for; an empty plan when no rule fits."""
    result = Plan()
    for line in message.split("\n"):
        for tool, trigger, rest in _requests(line):
            if len(result.calls) < _MOST_CALLS:
                _add(result, tool, trigger, rest)
    return result


def _requests(line: str) -> list[tuple[str, str, str]]:
    """Each request in a line: its tool, the words that named it, and what follows up to the next request."""
    triggers = []
    for trigger in _TRIGGER.finditer(line, 0, _READ):
        triggers.append(trigger)
        if trigger.lastgroup == "send_email" or (trigger.lastgroup == "save_note" and trigger[0].endswith(":")):
            break  # What follows is the e-mail or the note, whatever it says.
    if not triggers:
        return []
    ends = [trigger.start() for trigger in triggers[1:]] + [len(line)]
    return [
        (str(trigger.lastgroup), trigger[0], line[trigger.end() : end])
        for trigger, end in zip(triggers, ends, strict=True)
    ]


def _add(result: Plan, tool: str, trigger: str, rest: str) -> None:
    text = rest.strip() if trigger.endswith(":") and tool == "save_note" else _trimmed(rest)
    if tool == "list_tasks":
        result.calls.append((tool, _list_arguments(trigger)))
    elif tool == "add_task":
        arguments = _task_arguments(trigger, text)
        if arguments["title"]:
            result.calls.append((tool, arguments))
        else:
            result.remarks.append('Please say what the task is, for example "add a task to buy milk".')
    elif tool == "send_email":
        mail = _MAIL.match(rest.strip())
        if mail:
            subject = mail["subject"] or _title(mail["body"])
            result.calls.append((tool, {"to": mail[1], "subject": subject, "body": mail["body"]}))
        else:
            result.remarks.append(
                'Please say to whom and what, for example "send an email to bob@example.com saying the report is done".'
            )
    elif tool == "web_search":
        if text:
            result.calls.append((tool, {"query": text}))
        else:
            result.remarks.append('Please say what to search for, for example "search the web for tea".')
    else:
        queries = [arguments["query"] for name, arguments in result.calls if name == "web_search"]
        if queries and not trigger.endswith(":") and _FINDINGS.fullmatch(text):
            result.note_of_findings = queries[-1]
        elif text:
            titled = _TITLED.fullmatch(text)
            title, content = titled.groups() if titled else (_title(text), text)
            result.calls.append((tool, {"title": title, "content": content}))
        else:
            result.remarks.append('Please say what the note is, for example "note: the key is under the mat".')


def _list_arguments(request: str) -> dict[str, Any]:
    if re.search(r"\b(?:completed|done|finished)\b", request, re.IGNORECASE):
        return {"status": "completed"}
    if re.search(r"\b(?:pending|open|unfinished)\b", request, re.IGNORECASE):
        return {"status": "pending"}
    return {"status": "all"}


def _task_arguments(trigger: str, text: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    date = _DATE.search(text)
    text = _without(text, date)
    priority = _PRIORITY.search(text)
    arguments["title"] = _trimmed(_without(text, priority))
    priority = priority or _PRIORITY.search(trigger)
    if date:
        arguments["due_date"] = date[1]
    if priority:
        arguments["priority"] = (priority[1] or priority[2]).lower()
    return arguments


def _without(text: str, found: re.Match[str] | None) -> str:
    return text if found is None else text[: found.start()].rstrip(_EDGES) + text[found.end() :]


def _trimmed(text: str) -> str:
    """The text without punctuation at its ends and without the words that led on to the next request."""
    text = text.strip(_EDGES)
    while text.rpartition(" ")[2].lower() in _CONNECTORS:
        text = text.rpartition(" ")[0].rstrip(_EDGES)
    return text


def _title(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= _LONGEST_TITLE else line[:_LONGEST_TITLE].rsplit(" ", 1)[0] + " …"
