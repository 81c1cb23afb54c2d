"""The ids of responses and of their items: each tells which run it is of."""

import re

_RUN = re.compile(r"resp_([0-9a-f]{32})")
_ITEM = re.compile(r"(?:msg|rs|fc|ctc)_([0-9a-f]{32})[0-9a-f]{4,8}")
_MANAGED = re.compile(r"(?:mcp|mcpr)_[0-9a-f]{32}")
_APPROVAL = re.compile(r"mcpr_([0-9a-f]{32})")


def response(run_id: str) -> str:
    """A response's id; run ids are 32 hex digits here."""
    return f"resp_{run_id}"


def item(kind: str, run_id: str, turn: int, call: int | None = None) -> str:
    """The id of a turn's msg or rs, or of the fc or ctc of a client's call in it."""
    return f"{kind}_{run_id}{turn:04x}" + ("" if call is None else f"{call:04x}")


def managed(call_id: str) -> str:
    """The id of a managed call's item."""
    return f"mcp_{call_id.replace('-', '')}"


def approval(approval_id: str) -> str:
    """The id of an approval request's item."""
    return f"mcpr_{approval_id.replace('-', '')}"


def run_of_response(response_id: str) -> str | None:
    """The run that a response is the answer of; None when it is none of ours."""
    found = _RUN.fullmatch(response_id)
    return found[1] if found else None


def run_of_item(item_id: str) -> str | None:
    """The run that an item is of."""
    found = _ITEM.fullmatch(item_id)
    return found[1] if found else None


def approval_of(item_id: str) -> str | None:
    """The approval request that an item shows."""
    found = _APPROVAL.fullmatch(item_id)
    return found[1] if found else None


def is_managed(item_id: str) -> bool:
    """Whether an item shows a managed call, or a request to approve one."""
    return _MANAGED.fullmatch(item_id) is not None
