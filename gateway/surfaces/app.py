"""Every address under /v1: the compatible APIs, and the models that they may name."""

from gateway.surfaces import counting, http, models, responses_stored, serving
from gateway.surfaces.http import Receive, Scope, Send
from gateway.surfaces.interface import Surface

PREFIX = "/v1/"


def takes(scope: Scope) -> bool:
    """Whether the request is one for `answer`; what asks before a page's request is Django's affair."""
    return bool(scope["path"].startswith(PREFIX)) and scope["method"] != "OPTIONS"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Hand a request to its surface."""
    method, path = scope["method"], scope["path"].rstrip("/")
    surface = _surfaces().get(path)
    if path == "/v1/messages/count_tokens" and method == "POST":
        await counting.answer(scope, receive, send)
    elif surface is not None and method == "POST":
        await serving.answer(surface, scope, receive, send)
    elif path == "/v1/models" or path.startswith("/v1/models/"):
        await models.answer(scope, send)
    elif path.startswith("/v1/responses/") and method == "GET":
        await responses_stored.answer(scope, send)
    else:
        await _nowhere(scope, send, 405 if surface is not None else 404)


def _surfaces() -> dict[str, Surface]:
    """The surfaces by address; imported at first use, since few processes serve them."""
    from gateway.surfaces import chat_completions, messages, responses

    return {
        "/v1/chat/completions": chat_completions.SURFACE,
        "/v1/messages": messages.SURFACE,
        "/v1/responses": responses.SURFACE,
    }


async def _nowhere(scope: Scope, send: Send, status: int) -> None:
    message = f"{scope['method']} {ascii(scope['path'])[1:-1][:200]} is nothing that Toolgate answers."
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": "unknown_url"}
    body = {"type": "error", "error": error}
    await http.send_json(send, status, body, "")
