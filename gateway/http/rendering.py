"""JSON out of the REST API, by orjson."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


class JSONRenderer(BaseRenderer):
    """Answers JSON."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """An empty answer has no body."""
        return b"" if data is None else orjson.dumps(data, default=plain)


def plain(value: Any) -> Any:
    """What orjson cannot write, as something that it can."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return list(value)
    return str(value)
