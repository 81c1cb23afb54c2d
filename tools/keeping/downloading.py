"""A file's bytes as an answer that no browser shows as a page of Toolgate's."""

from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header

from tools.files.content import kind_of
from tools.models import File

_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"


def attachment(file: File, body: bytes | None) -> HttpResponse:
    """The bytes, to be saved under the file's own name; 404 without any. What it is told to be, it is by its bytes."""
    if body is None:
        raise Http404
    kind = kind_of(body)
    response = HttpResponse(body, content_type=f"{kind.media_type}; charset=utf-8" if kind.plain else kind.media_type)
    name = file.path.rpartition("/")[2]
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["Content-Security-Policy"] = _POLICY
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Cache-Control"] = "private, no-store"
    return response
