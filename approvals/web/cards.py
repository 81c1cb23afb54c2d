"""An approval request as its card shows it, beyond what `queue.body` tells everybody."""

from typing import Any

from django.utils.dateparse import parse_datetime

from approvals.requests import queue
from audit.templatetags.exact_text import as_typed
from tenants.people.principal import Principal
from tools.labels import PRIVATE, UNTRUSTED, in_words
from tools.registry import registry

Card = dict[str, Any]

YOU = "you"
# The gate that goes by what was read, and the headings for what it was.
TAINT = "taint"
READ = {PRIVATE: "Private data", UNTRUSTED: "What strangers wrote"}
READ_ABOVE = "It would send something out of the tenant after what this session has read"
FORMER = "a former member"


def card(found: Any, principal: Principal) -> Card:
    """What the templates of a card read; `found` is a row of `queue.visible`."""
    body = queue.body(found, principal)
    return {
        "approval": body,
        "arguments": arguments(found),
        "typed": typed(found),
        "seen": found.params_hash,
        # Grows with whatever can happen to it.
        "version": f"{body['status']}.{len(body['decisions'])}",
        "story": story(body, principal),
        "reasons": reasons(found),
        "read": read(found),
        "asker": name_of(body["user"], principal),
        "subject": "You" if body["mine"] else body["user"]["username"] or FORMER,
        "in_history": body["mine"] or principal.sees_whole_history,
        "voted": any(each["counts"] and each["user"]["id"] == principal.user_id for each in body["decisions"]),
        "may_decide": "approvals:decide" in principal.scopes,
    }


def arguments(found: Any) -> Any:
    """What would run, as an approver changed it, else as the model sent it; in the order of the tool's parameters."""
    given = found.input if found.approved_input is None else found.approved_input
    tool = registry().get(found.tool_name)
    if tool is None or not isinstance(given, dict):
        return given
    known = [name for name in tool.parameters.get("properties", {}) if name in given]
    return {name: given[name] for name in known} | given


def reasons(found: Any) -> list[str]:
    """Why a human decides, by each gate that held the call; where `read` says it, not once more."""
    gates = [each for each in found.gates or [] if each.get("holds") and each.get("log")]
    if not gates:
        return [found.why]
    shown = bool(read(found))
    return [READ_ABOVE if shown and each["gate"] == TAINT else each["log"] for each in gates]


def read(found: Any) -> list[dict[str, Any]]:
    """What the session had read, where that is why a human decides: {label, sources}, a source being {name, at, call}.

    Empty where it is not why, or not known.
    """
    held: dict[str, Any] = next(
        (each for each in found.gates or [] if each.get("gate") == TAINT and each.get("holds")), {}
    )
    sources = (held.get("facts") or {}).get("sources") or []
    by_label = {
        label: [
            {"name": in_words(each["source"]), "at": parse_datetime(each["at"]), "call": each["call"]}
            for each in sources
            if each["label"] == label
        ]
        for label in READ
    }
    return [{"label": READ[label], "sources": each} for label, each in by_label.items() if each]


def typed(found: Any) -> str:
    """The arguments as the text box offers them to be edited."""
    return as_typed(arguments(found))


def story(body: Card, principal: Principal) -> Card:
    """Who decided what, in order, and in a few words how it ended; `tone` and `icon` say the same."""
    decided = []
    for each in body["decisions"]:
        who = name_of(each["user"], principal)
        decided.append(each | {"who": who, "subject": "You" if who == YOU else who})
    by = " and ".join(each["who"] for each in decided if each["counts"])
    said, tone, icon = {
        "pending": (_votes(body, by), "wait", "wait"),
        "approved": (f"Approved by {by}", "good", "check"),
        "denied": (f"Denied by {decided[-1]['who']}" if decided else "Denied", "bad", "cross"),
        "expired": ("Expired: nobody decided in time", "bad", "cross"),
        "cancelled": ("Withdrawn before anybody decided", "bad", "cross"),
    }[body["status"]]
    return {"decisions": decided, "said": said, "tone": tone, "icon": icon}


def name_of(user: dict[str, Any], principal: Principal) -> str:
    """A person's name; "you" for the reader."""
    return YOU if user["id"] == principal.user_id else user["username"] or FORMER


def _votes(body: Card, by: str) -> str:
    if body["approvals_needed"] == 1:
        return "Waiting"
    votes = f"{body['approvals']} of {body['approvals_needed']} approvals"
    return f"{votes}, by {by}" if by else votes
