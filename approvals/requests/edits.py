"""What an approver changed in a call's arguments, as a list of changes that a person can read."""

from typing import Any

Change = dict[str, Any]


def diff(before: Any, after: Any, path: str = "") -> list[Change]:
    """The changes that lead from one JSON value to another: `{op, path, before?, after?}`.

    `op` is add, remove or replace, `path` a JSON pointer (RFC 6901). Objects are compared by name, anything else whole.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        changes: list[Change] = []
        for name in before | after:
            at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in after:
                changes.append({"op": "remove", "path": at, "before": before[name]})
            elif name not in before:
                changes.append({"op": "add", "path": at, "after": after[name]})
            else:
                changes += diff(before[name], after[name], at)
        return changes
    # 1 is not True, and 1 is not 1.0, although Python says so.
    if type(before) is type(after) and before == after:
        return []
    return [{"op": "replace", "path": path, "before": before, "after": after}]
