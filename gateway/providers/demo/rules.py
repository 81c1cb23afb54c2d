"""The demo model's rules: from a plain request to the tool calls that would answer it."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from gateway.providers.demo import drawing as demo_drawing
from gateway.providers.demo import files

_TRIGGER = re.compile(
    r"""
    (?P<canvas>\b(?:draw|sketch|plot)\b\s*(?:me\s+)?:?)
  | (?P<schedule>\bevery\s+(?:day|weekday|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\s+
        at\s+\d{1,2}(?::\d{2})?\b(?:\s+in\s+[a-z_]+/[a-z_]+)?\s*[,:]?)
  | (?P<list_schedules>\b(?:what\ are|show|list|see)\b[^.;?\n]{0,30}?\bschedules\b\??)
  | (?P<run_schedule>\brun\s+(?:the\s+)?schedule\b)
  | (?P<cancel_schedule>\b(?:cancel|delete)\s+(?:the\s+)?schedule\b)
  | (?P<web_fetch>\b(?:fetch|open|read|summari[sz]e)\s+(?:[\w'-]+\s+){0,4}?https?://\S+)
  | (?P<search_notes>\b(?:search|look\ (?:up|in)|find|see|check)\b\s+(?:in\s+)?(?:all\s+)?my\s+notes\b\s*
        (?:for\b|about\b|on\b|:)?|\bwhat\ (?:did|have)\ i\ (?:note|noted|write\ down)\b\s*(?:about\b|on\b)?)
  | (?P<memory_search>\bwhat\ do\ you\ remember\b\s*(?:about\b|of\b|on\b|for\b)?
        |\b(?:search|look\ (?:up|in))\b\s+(?:in\s+)?(?:your|the)\ memory\b\s*(?:for\b|about\b|:)?)
  | (?P<memory_store>\b(?:keep\ in\ mind|memori[sz]e|remember(?=\s+for\s+(?:every|all|later)))\b\s*
        (?:for\s+(?:everybody|everyone|all(?:\ of\ us)?|later)\b)?\s*(?:that\b|:)?)
  | (?P<complete_task>\b(?:complete|finish|tick\ off)\s+(?:the\s+|my\s+)?(?:task|to-?do)\b\s*
        (?:called\b|named\b|:)?)
  | (?P<list_tasks>\b(?:what(?:'s|\ is|\ are)?|show|list|see)\b[^.;?\n]{0,60}?\b(?:tasks|to-?dos?|to-?do\ list)\b\??)
  | (?P<create_reminder>\bremind\ me\s+(?=(?:at|on|in)\s+\d))
  | (?P<message>\bmessage\ me\b\s*(?:that\b|saying\b|:)?
        |\bmessage\s+(?:to\s+)?(?=[^:\n]{1,80}?(?:\ssaying\b|:)))
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
_MOMENT = re.compile(
    r"""\b(?:(?:at|on)\s+(?P<at>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2}))
        |in\s+(?P<number>\d{1,4})\s+(?P<unit>second|minute|hour|day)s?)\b[,:]?""",
    re.IGNORECASE | re.VERBOSE,
)
_WITH_FILE = re.compile(r"\bwith\s+(?:the\s+)?file\s+(?P<path>[^\s:,]{1,200})[\s:,]*", re.IGNORECASE)
_SAYING = re.compile(r"(?P<to>[^:\n]{1,80}?)(?:\s+saying\b(?:\s+that\b)?\s*:?|\s*:)\s*(?P<text>\S.*)", re.IGNORECASE)
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
_WHEN = re.compile(r"every\s+(\w+)\s+at\s+(\d+)(?::(\d+))?(?:\s+in\s+(\S+?))?\s*[,:]?", re.IGNORECASE)
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAYS_OF_WEEK = {"day": "*", "weekday": "1-5", "weekend": "0,6", **{day: str(at) for at, day in enumerate(_DAYS)}}
_LONGEST_TITLE = 60
_EDGES = " \t\r,;:.?!"
_CONNECTORS = {"and", "then", "also", "please"}
_READ = 4000
"""Characters of a line in which requests are looked for; what they ask for may be longer."""
_MOST_CALLS = 20
_TAKES_ALL = ("save_note", "memory_store")
"""Tools whose words, with a colon after them, take the rest of the line as it is."""


@dataclass(slots=True)
class Plan:
    """The calls of the first turn, the title of a note that waits for a search, the titles of tasks that are done and
    wait for a list of tasks, which has their ids, and what was not said clearly."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    note_of_findings: str | None = None
    tasks_done: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def plan(message: str) -> Plan:
    """What `message` asks for; an empty plan when no rule fits."""
    result = Plan()
    lines = message.split("\n")
    for at, line in enumerate(lines):
        if file := files.request(lines, at):
            if len(result.calls) < _MOST_CALLS:
                result.calls.append(file)
            if file[0] == "write_file":
                break  # What follows is the file, whatever it says.
            continue
        for tool, trigger, rest in _requests(line):
            if len(result.calls) < _MOST_CALLS:
                _add(result, tool, trigger, rest)
    return result


def _requests(line: str) -> list[tuple[str, str, str]]:
    """Each request in a line: its tool, the words that named it, and what follows up to the next request."""
    triggers = []
    for trigger in _TRIGGER.finditer(line, 0, _READ):
        triggers.append(trigger)
        takes_all = trigger.lastgroup in _TAKES_ALL and trigger[0].endswith(":")
        if trigger.lastgroup in ("send_email", "message", "schedule", "canvas") or takes_all:
            break  # What follows is the e-mail, the message, what is to be asked, the drawing, the note or the memory.
    if not triggers:
        return []
    ends = [trigger.start() for trigger in triggers[1:]] + [len(line)]
    return [
        (str(trigger.lastgroup), trigger[0], line[trigger.end() : end])
        for trigger, end in zip(triggers, ends, strict=True)
    ]


def _add(result: Plan, tool: str, trigger: str, rest: str) -> None:
    text = rest.strip() if trigger.endswith(":") and tool in _TAKES_ALL else _trimmed(rest)
    if tool == "list_tasks":
        result.calls.append((tool, _list_arguments(trigger)))
    elif tool == "create_reminder" or (trigger.lower().startswith("remind") and _relative(text)):
        _add_reminder(result, text)
    elif tool == "message":
        _add_message(result, trigger, rest.strip())
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
    elif tool == "schedule":
        if text:
            result.calls.append((tool, _schedule_arguments(trigger, rest.strip())))
        else:
            result.remarks.append('Please say what to do then, for example "every weekday at 9 list my open tasks".')
    elif tool == "list_schedules":
        result.calls.append((tool, {}))
    elif tool in ("run_schedule", "cancel_schedule"):
        if text:
            result.calls.append((tool, {"schedule_id": text.split()[0]}))
        else:
            result.remarks.append('Please say which one; "list my schedules" shows their ids.')
    elif tool == "search_notes":
        if text:
            result.calls.append((tool, {"query": text}))
        else:
            result.remarks.append('Please say what to find, for example "search my notes for the key".')
    elif tool == "memory_search":
        if text:
            result.calls.append((tool, {"query": text}))
        else:
            result.remarks.append('Please say about what, for example "what do you remember about the office?".')
    elif tool == "memory_store":
        shared = re.search(r"\bfor\s+(?:every|all)", trigger, re.IGNORECASE)
        if text:
            result.calls.append((tool, {"content": text} | ({"scope": "tenant"} if shared else {})))
        else:
            result.remarks.append('Please say what, for example "keep in mind that the office closes at six".')
    elif tool == "complete_task":
        if text:
            result.tasks_done.append(text)
            if all(name != "list_tasks" for name, _ in result.calls):
                result.calls.append(("list_tasks", {"status": "pending", "limit": 100}))
        else:
            result.remarks.append('Please say which task is done, for example "complete the task buy milk".')
    elif tool == "canvas":
        if text:
            result.calls.append((tool, demo_drawing.arguments(text)))
        else:
            result.remarks.append('Please say what to draw, for example "draw bars: tea 3, coffee 5".')
    elif tool == "web_fetch":
        address = _trimmed(trigger.split()[-1].rstrip(")>\"'"))
        result.calls.append((tool, {"url": address}))
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


def _relative(text: str) -> bool:
    """Whether a task says in how long it is: then it is a reminder."""
    found = _MOMENT.search(text)
    return found is not None and (found["at"] is None or found[0].lower().startswith("at"))


def _add_reminder(result: Plan, text: str) -> None:
    found = _MOMENT.search(text)
    what = _trimmed(_without(text, found))
    what = what[3:].lstrip() if what.lower().startswith("to ") else what
    if found is None or not what:
        result.remarks.append(
            'Please say when and of what, for example "remind me in 10 minutes to stretch".',
        )
        return
    at = found["at"]
    if at is None:
        later = datetime.now(UTC) + timedelta(**{f"{found['unit'].lower()}s": int(found["number"])})
        at = later.isoformat(timespec="seconds")
    result.calls.append(("create_reminder", {"text": what, "at": at}))


def _add_message(result: Plan, trigger: str, rest: str) -> None:
    said = None if trigger.lower().startswith("message me") else _SAYING.match(rest)
    to, text = (said["to"].strip(), said["text"]) if said else ("inbox", rest.lstrip(_EDGES))
    file = _WITH_FILE.search(to) if said else _WITH_FILE.match(text)
    if file and said:
        to = to[: file.start()].strip()
    elif file:
        text = text[file.end() :].strip()
    if text:
        media = {"media": [file["path"]]} if file else {}
        result.calls.append(("message", {"to": to, "text": text} | media))
    else:
        result.remarks.append('Please say what the message is, for example "message me: the report is done".')


def _list_arguments(request: str) -> dict[str, Any]:
    if re.search(r"\b(?:completed|done|finished)\b", request, re.IGNORECASE):
        return {"status": "completed"}
    if re.search(r"\b(?:pending|open|unfinished)\b", request, re.IGNORECASE):
        return {"status": "pending"}
    return {"status": "all"}


def _schedule_arguments(trigger: str, content: str) -> dict[str, Any]:
    when = _WHEN.fullmatch(trigger.strip())
    assert when is not None, "the trigger is this and more"
    days, hour, minute, tz = when.groups()
    cron = f"{int(minute or 0)} {int(hour)} * * {_DAYS_OF_WEEK[days.lower()]}"
    return {"cron": cron, "tz": tz or "UTC", "content": content}


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
