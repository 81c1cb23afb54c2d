"""The OpenAPI document at `/api/schema/`: built once by each process, and served as bytes."""

import hashlib
import threading
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

_lock = threading.Lock()
# By media type: the document and its ETag.
_built: dict[str, tuple[bytes, str]] = {}


class DocumentView(SpectacularAPIView):
    """The document as YAML, or as JSON where that is accepted; 304 to who has it."""

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        """One thread builds it, which is work for a second, and drf-spectacular is not made for two; others wait."""
        renderer = request.accepted_renderer  # type: ignore[attr-defined]
        with _lock:
            if renderer.media_type not in _built:
                response = super().get(request, *args, **kwargs)
                body = renderer.render(response.data, renderer.media_type, {})
                body = body.encode() if isinstance(body, str) else body
                _built[renderer.media_type] = body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        body, etag = _built[renderer.media_type]
        return _answer(request._request, body, etag, renderer)


def _answer(request: HttpRequest, body: bytes, etag: str, renderer: Any) -> HttpResponse:
    response = HttpResponse(body, content_type=renderer.media_type, headers={"ETag": etag})
    disposition = "inline" if renderer.format.endswith("json") else 'inline; filename="Toolgate (1).yaml"'
    response["Content-Disposition"] = disposition
    patch_vary_headers(response, ["Accept"])
    return get_conditional_response(request, etag=etag, response=response) or response  # type: ignore[return-value]
