"""The OpenAPI document at `/api/schema/`: built once by each process, and served as bytes."""

import hashlib
import threading
from typing import Any

from django.http import HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

_lock = threading.Lock()
# By media type: the document and its ETag.
_built: dict[str, tuple[bytes, str]] = {}


class DocumentView(SpectacularAPIView):
    """The document as YAML, or as JSON where that is accepted; the same for everybody, whatever the query says."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """The document; 304 to who has it."""
        renderer = request.accepted_renderer  # type: ignore[attr-defined]
        # Building takes a second and is not made for two threads: others wait.
        with _lock:
            if renderer.media_type not in _built:
                _built[renderer.media_type] = self._build(renderer)
        body, etag = _built[renderer.media_type]
        answer = HttpResponse(body, content_type=renderer.media_type, headers={"ETag": etag})
        answer["Content-Disposition"] = f'inline; filename="Toolgate.{renderer.format}"'
        patch_vary_headers(answer, ["Accept"])
        return get_conditional_response(request._request, etag=etag, response=answer) or answer  # type: ignore

    def _build(self, renderer: Any) -> tuple[bytes, str]:
        generator: Any = self.generator_class(urlconf=self.urlconf)
        document = generator.get_schema(request=None, public=True)
        body = renderer.render(document, renderer.media_type, {})
        body = body.encode() if isinstance(body, str) else body
        return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
