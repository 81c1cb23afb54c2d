"""`/canvas/<token>/`: a version of a canvas, as the frame beside the chat runs it.

What a model drew is a stranger's program. It is held by:

    sandbox     its origin is nobody's: no cookie, no storage, no other frame, no window, form, dialog or download
    policy      it loads nothing and reaches nobody; the chat page's own policy forbids the frame to go elsewhere
    allowlist   `Connection-Allowlist` closes what no Content-Security-Policy covers (WebRTC, connections made in
                advance), in browsers that know it

In a window of its own no page around it would hold it, so it is served to frames alone. A browser that does not say
what it asks for gets nothing.
"""

import html
import re

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from tenants.errors import Refused
from tools.keeping import canvases
from tools.keeping.errors import NotInAFrame
from tools.models import CanvasVersion

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "media-src data:",
        "font-src data:",
        "connect-src 'none'",
        "frame-src 'none'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts",
    )
)
_DEVICES = (
    *("camera", "microphone", "display-capture", "geolocation", "clipboard-read", "clipboard-write", "payment", "usb"),
    *("serial", "hid", "midi", "publickey-credentials-get", "publickey-credentials-create"),
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Connection-Allowlist": "()",
    "Permissions-Policy": ", ".join(f"{each}=()" for each in _DEVICES),
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-DNS-Prefetch-Control": "off",
    "Cache-Control": "no-store",
    "Vary": "Sec-Fetch-Dest",
}
_WORDS = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Canvas</title></head>'
    "<body><main><h1>Canvas</h1><p>{}</p></main></body></html>"
)
_STYLE_END = re.compile("</(?=style)", re.IGNORECASE)
_SCRIPT_END = re.compile("</(?=script)", re.IGNORECASE)


@require_safe
def show(request: HttpRequest, token: str) -> HttpResponse:
    """What a link opens; it reads no cookie and sets none."""
    try:
        if request.headers.get("Sec-Fetch-Dest") != "iframe":
            raise NotInAFrame
        text, status = page(canvases.opened(token)), 200
    except Refused as refused:
        text, status = _WORDS.format(html.escape(refused.detail)), refused.status
    return HttpResponse(text, status=status, headers=_HEADERS)


def page(version: CanvasVersion) -> str:
    """The version as one document: its style, its HTML, and its script when that is there."""
    # The end of an element inside of a text of JavaScript or CSS would cut it; escaped, it reads the same.
    css = _STYLE_END.sub(r"<\\/", version.css)
    js = _SCRIPT_END.sub(r"<\\/", version.js)
    style = f"<style>{css}</style>" if css else ""
    script = f"<script>{js}</script>" if js else ""
    title = html.escape(version.title)
    return f'<!doctype html><meta charset="utf-8"><title>{title}</title>{style}{version.html}{script}'
