"""The demo model's words for what its tool calls came to."""

from typing import Any

import orjson

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
        said = [value for name, value in data.items() if name != "results" and isinstance(value, str)]
        return "\n".join([head + (":" if found else "."), *found, *said])
    if tool == "save_note" and data.get("saved") is True:
        return f'I saved the note "{asked.get("title", "")}".'
    if tool == "add_task" and data.get("created") is True:
        return f'I added the task "{asked.get("title", "")}".'
    if tool == "send_email" and "message_id" in data:
        return f"I sent the e-mail to {data.get('to', '')}."
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
