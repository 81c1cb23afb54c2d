"""What the model is told of a call: the JSON text that goes back to it as the tool's result."""

from typing import Any

import orjson

# Of the data's JSON text, in bytes; the record keeps the whole.
DEFAULT_LIMIT = 16_384
# A message is a sentence or two; a remote's own words may be anything.
_MAX_MESSAGE = 2_000
# Characters of base64 that are told nevertheless.
_MOST_BASE64 = 256


def success(data: Any, limit: int = DEFAULT_LIMIT, ran_with: Any = None) -> str:
    """`{"ok": true, "data": …}`, where `data` is any value that RFC 8785 carries.

    Images, sound and files within a result as MCP has it are left out, and said to be there.

    `ran_with`: the arguments that an approver had put in place of the model's; told as `"ran_with"`.

    When its JSON text has more than `limit` bytes, `data` is the beginning of that text as a string, cut between
    characters, with `"truncated": true` and `"original_bytes"`.
    """
    text = orjson.dumps(_readable(data))
    edited = "" if ran_with is None else f',"ran_with":{orjson.dumps(ran_with).decode()}'
    if len(text) <= limit:
        return '{"ok":true,"data":' + text.decode() + edited + "}"
    beginning = orjson.dumps(text[:limit].decode("utf-8", "ignore")).decode()
    return f'{{"ok":true,"data":{beginning},"truncated":true,"original_bytes":{len(text)}{edited}}}'


def _readable(data: Any) -> Any:
    """The data without what nobody reads as text: a screenshot would be 16 KiB of base64."""
    blocks = data.get("content") if isinstance(data, dict) else None
    if not isinstance(blocks, list):
        return data
    return {**data, "content": [_block(each) for each in blocks]}


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    if block.get("type") in ("image", "audio"):
        return _without(block, "data")
    if block.get("type") == "resource" and isinstance(resource := block.get("resource"), dict):
        return {**block, "resource": _without(resource, "blob")}
    return block


def _without(holder: dict[str, Any], name: str) -> dict[str, Any]:
    held = holder.get(name)
    if not isinstance(held, str) or len(held) <= _MOST_BASE64:
        return holder
    return {**holder, name: f"({len(held):,} characters of base64, which are not shown)"}


def failure(
    code: str,
    message: str,
    field: str | None = None,
    schema: dict[str, Any] | None = None,
    limit: int = DEFAULT_LIMIT,
) -> str:
    """`{"ok": false, "error": {"code", "message", "field"?, "schema"?}}`.

    A schema is left out when its JSON text has more than `limit` bytes: half of one misleads, and the model has it.
    """
    error: dict[str, Any] = {"code": code, "message": message[:_MAX_MESSAGE]}
    if field is not None:
        error["field"] = field
    if schema is not None and len(orjson.dumps(schema)) <= limit:
        error["schema"] = schema
    return orjson.dumps({"ok": False, "error": error}).decode()
