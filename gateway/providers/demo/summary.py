"""The demo model's words for what its tool calls came to."""

from typing import Any

import orjson

from gateway.providers.demo import files

_REFUSALS = {
    "not_allowed": "is not among the tools that may be used here",
    "validation_error": "did not accept the arguments",
    "permission_denied": "is not permitted for you",
    "policy_denied": "is ruled out by a policy",
    "rate_limited": "was called too often, please wait a little",
    "approval_denied": "was not approved",
    "approval_expired": "was not approved in time",
    "cancelled": "was cancelled",
    "timeout": "took too long",
    "execution_error": "failed",
    "unavailable": "is not available at the moment",
    "outcome_unknown": "was interrupted, and whether it had an effect is not known",
}
_LONGEST = 500
# What each answer of this model ends with.
LABEL = "I am Toolgate's offline demo model: no AI, just a few rules."


def summary(tool: str, arguments: str, content: str) -> str:
    """One call's result in words; `content` is the JSON that the model gets."""
    result = _json(content)
    if not isinstance(result, dict) or "ok" not in result:
        return f"{tool} answered something that I cannot read."
    if not result["ok"]:
        return _refusal(tool, result.get("error"))
    data = result.get("data")
    text = _success(tool, _json(arguments), data if isinstance(data, dict) else {})
    if text is None:
        text = f"{tool} answered: {_cut(orjson.dumps(data).decode())}"
    return f"{text}\n(The result was cut.)" if result.get("truncated") else text


def findings(content: str) -> str | None:
    """What a search found, as the text of a note; None when it found nothing or failed."""
    result = _json(content)
    data = result.get("data") if isinstance(result, dict) and result.get("ok") is True else None
    return "\n".join(_found(data)) or None if isinstance(data, dict) else None


def tasks(content: str) -> list[dict[str, Any]] | None:
    """The tasks that a list has; None when there is none."""
    result = _json(content)
    data = result.get("data") if isinstance(result, dict) and result.get("ok") is True else None
    listed = data.get("tasks") if isinstance(data, dict) else None
    return [task for task in listed if isinstance(task, dict)] if isinstance(listed, list) else None


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _refusal(tool: str, error: object) -> str:
    error = error if isinstance(error, dict) else {}
    words = _REFUSALS.get(str(error.get("code")), "did not work")
    message = error.get("message")
    return f"{tool} {words}: {message}" if isinstance(message, str) and message else f"{tool} {words}."


def _success(tool: str, arguments: Any, data: dict[str, Any]) -> str | None:
    asked = arguments if isinstance(arguments, dict) else {}
    if tool == "web_search" and isinstance(data.get("results"), list):
        found = _found(data)
        head = f'I searched the web for "{asked.get("query", "")}" and found {_number(len(found), "result")}'
        rest = [value for name, value in data.items() if name != "results" and isinstance(value, str)]
        return "\n".join([head + (":" if found else "."), *found, *rest])
    if tool == "web_fetch" and isinstance(data.get("text"), str):
        return f'I fetched "{data.get("title") or data.get("url", "")}" ({data.get("url", "")}):\n{_cut(data["text"])}'
    if tool == "canvas" and "version" in data:
        return f'I drew "{data.get("title", "")}" beside this conversation (version {data["version"]}).'
    if tool == "save_note" and data.get("saved") is True:
        return f'I saved the note "{asked.get("title", "")}".'
    if tool == "add_task" and data.get("created") is True:
        return f'I added the task "{asked.get("title", "")}".'
    if tool == "search_notes" and isinstance(data.get("notes"), list):
        notes = [note for note in data["notes"] if isinstance(note, dict)]
        head = f'I found {_number(len(notes), "note")} for "{asked.get("query", "")}"'
        said = [f"- {note.get('title', '')}: {_cut(str(note.get('snippet', '')))}" for note in notes]
        return "\n".join([head + (":" if notes else "."), *said])
    if tool == "memory_store" and data.get("stored") is True:
        shared = " for everybody here" if asked.get("scope") == "tenant" else ""
        return f'I will remember{shared}: "{_cut(str(asked.get("content", "")))}".'
    if tool == "memory_search" and isinstance(data.get("memories"), list):
        memories = [_cut(str(each.get("content", ""))) for each in data["memories"] if isinstance(each, dict)]
        head = f'I remember {_number(len(memories), "thing")} about "{asked.get("query", "")}"'
        return "\n".join([head + (":" if memories else "."), *(f"- {words}" for words in memories)])
    if tool == "complete_task" and data.get("completed") is True:
        return "I completed the task."
    if tool == "update_task" and isinstance(data.get("task"), dict):
        return f"I changed the task: {_task(data['task']).removeprefix('- ')}."
    if tool == "create_reminder" and "reminder_id" in data:
        return f'I will have you reminded of "{asked.get("text", "")}" at {data.get("at", "")}.'
    if tool == "message" and data.get("status") == "delivered":
        return "I put the message into your inbox."
    if tool == "message" and data.get("status") == "queued":
        return f"The message to {data.get('to', '')} is on its way."
    if tool == "send_email" and "message_id" in data:
        return f"I sent the e-mail to {data.get('to', '')}."
    if tool == "schedule" and "schedule_id" in data:
        return f"I made the schedule {data['schedule_id']}: {asked.get('cron', '')} ({asked.get('tz', '')})."
    if tool == "run_schedule" and "status" in data:
        return f"The schedule's run: {data['status']}{': ' + str(data['message']) if data.get('message') else ''}."
    if tool == "cancel_schedule" and data.get("cancelled") is True:
        return "I cancelled the schedule."
    if tool == "list_schedules" and isinstance(data.get("schedules"), list):
        listed = [each for each in data["schedules"] if isinstance(each, dict)]
        said = [f"- {_cut(str(each.get('content', '')))} ({_when(each)})" for each in listed]
        return "\n".join([f"You have {_number(len(listed), 'schedule')}" + (":" if listed else "."), *said])
    if data.keys() >= {"run_id", "status", "content", "incomplete_reason"}:
        return _child("The conversation" if tool == "send_to_session" else "The worker", data)
    if (words := files.success(tool, data, _cut)) is not None:
        return words
    if tool == "list_tasks" and isinstance(data.get("tasks"), list):
        tasks = [_task(task) for task in data["tasks"] if isinstance(task, dict)]
        return "\n".join([f"You have {_number(len(tasks), 'task')}" + (":" if tasks else "."), *tasks])
    return None


def _found(data: dict[str, Any]) -> list[str]:
    results = data.get("results")
    return [
        f"- {result.get('title', '')} ({result.get('url', '')}): {_cut(str(result.get('snippet', '')))}"
        for result in (results if isinstance(results, list) else [])
        if isinstance(result, dict)
    ]


def _child(who: str, data: dict[str, Any]) -> str:
    """What became of a run that the call began."""
    content = data["content"]
    text = content if isinstance(content, str) else orjson.dumps(content).decode()
    # Said once, at the end of all.
    said = _cut(text.removesuffix(LABEL).strip())
    reason = data.get("incomplete_reason")
    if data.get("status") == "completed":
        return f"{who} answered: {said}" if said else f"{who} answered nothing."
    ended = f"{who} stopped at a limit ({reason})" if reason else f"{who} did not finish ({data.get('status')})"
    return f"{ended}. So far it had said: {said}" if said else f"{ended}."


def _when(schedule: dict[str, Any]) -> str:
    state = "" if schedule.get("enabled") else ", paused"
    return f"{schedule.get('cron', '')} {schedule.get('tz', '')}{state}, {schedule.get('schedule_id', '')}"


def _task(task: dict[str, Any]) -> str:
    facts = [str(task.get("status", "pending"))]
    if task.get("due_date"):
        facts.append(f"due {task['due_date']}")
    if task.get("priority"):
        facts.append(f"{task['priority']} priority")
    return f"- {task.get('title', '')} ({', '.join(facts)})"


def _number(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"
