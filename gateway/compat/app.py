"""Every address under /v1: the compatible APIs, and the models that they may name."""

from functools import cache, partial
from typing import Any

from gateway.compat import models, serving
from gateway.compat.interface import CompatApi
from gateway.compat.messages import counting
from gateway.compat.responses import stored
from gateway.compat.vendor_errors import VendorForm, of_nobody
from gateway.http import asgi
from gateway.http.asgi import Receive, Request, Scope, Send
from tenants.errors import Refused

PREFIX = "/v1/"


def takes(scope: Scope) -> bool:
    """Whether the request is one for `answer`; what asks before a page's request is Django's affair."""
    return bool(scope["path"].startswith(PREFIX)) and scope["method"] != "OPTIONS"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Hand a request to the API of its address."""
    method, path = scope["method"], scope["path"].rstrip("/")
    api = apis().get(path)
    if path == "/v1/messages/count_tokens" and method == "POST":
        await counting.answer(scope, receive, send)
    elif api is not None and method == "POST":
        await serving.answer(api, scope, receive, send)
    elif path == "/v1/models" or path.startswith("/v1/models/"):
        await models.answer(scope, receive, send)
    elif path.startswith("/v1/responses/") and method == "GET":
        await stored.answer(scope, receive, send)
    else:
        refusal = _Nowhere(scope, 405 if api is not None else 404)
        await asgi.serve(VendorForm(of_nobody), scope, receive, send, partial(_refuse, refusal=refusal))


@cache
def apis() -> dict[str, CompatApi]:
    """The APIs by address; imported at first use, since few processes serve them."""
    from gateway.compat.chat_completions import api as chat_completions
    from gateway.compat.messages import api as messages
    from gateway.compat.responses import api as responses

    return {
        "/v1/chat/completions": chat_completions.API,
        "/v1/messages": messages.API,
        "/v1/responses": responses.API,
    }


def error(path: str, status: int, code: str, message: str) -> dict[str, Any]:
    """The body of an error at an address under /v1, in the form of its vendor; elsewhere in one that both read."""
    from gateway.compat.messages import api as messages

    path = path.rstrip("/")
    api = messages.API if path == "/v1/messages/count_tokens" else apis().get(path)
    if api is not None:
        return api.error(status, code, message)
    return of_nobody(status, code, message)


class _Nowhere(Refused):
    """Nothing is at this address, or nothing that this method asks."""

    code = "unknown_url"

    def __init__(self, scope: Scope, status: int):
        super().__init__(f"{scope['method']} {ascii(scope['path'])[1:-1][:200]} is nothing that Toolgate answers.")
        self.status = status


async def _refuse(request: Request, refusal: Refused) -> None:
    raise refusal
