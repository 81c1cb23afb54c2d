"""What the compatible APIs under /v1 accept and answer, as fragments of the OpenAPI document.

Django has no views for these addresses, so drf-spectacular cannot find them. Each fragment is an OpenAPI document with
nothing but `tags`, `paths` and `components`; tests hold them to what the APIs read and write.
"""

from pathlib import Path
from typing import Any

import yaml

FRAGMENTS = ("shared", "chat_completions", "responses", "messages", "models")
_SECURITY: list[dict[str, list[str]]] = [{"apiKey": []}, {"xApiKey": []}]
# The error statuses that every operation may answer.
_COMMON = {
    "400": "The request makes no sense, or asks for what cannot be done.",
    "401": "No key, or one that is unknown, revoked or expired.",
    "403": "The key lacks the scope `chat`.",
    "404": "There is no such model, agent or object of the caller's.",
    "500": "The failure was recorded.",
    "503": "The database is away, or this process is being stopped; try again.",
}


def add(result: dict[str, Any], generator: Any, **more: Any) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular: the document with every fragment."""
    for name in FRAGMENTS:
        fragment = yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text())
        result.setdefault("tags", []).extend(fragment.get("tags", ()))
        for path, operations in fragment.get("paths", {}).items():
            error = operations.pop("x-error")
            result["paths"][path] = {method: _operation(each, error) for method, each in operations.items()}
        for kind, components in fragment["components"].items():
            result["components"].setdefault(kind, {}).update(components)
    for kind, components in result["components"].items():
        result["components"][kind] = dict(sorted(components.items()))
    return result


def _operation(operation: dict[str, Any], error: str) -> dict[str, Any]:
    """An operation with the security and the errors that all of them have."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{error}"}}}
    given = {status: {"content": content, **each} for status, each in operation["responses"].items() if status >= "400"}
    common = {status: {"description": why, "content": content} for status, why in _COMMON.items()}
    responses = dict(sorted({**common, **operation["responses"], **given}.items()))
    return {**operation, "security": _SECURITY, "responses": responses}
