"""JSON in and out of the REST API, by orjson."""

from collections.abc import Mapping
from typing import IO, Any

import orjson
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from gateway.process import json_bodies


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


class JSONParser(BaseParser):
    """Reads JSON; what is not JSON is a 400."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Raises ParseError."""
        try:
            return json_bodies.read(stream.read())
        except json_bodies.NotJSON as error:
            raise ParseError(str(error)) from None


def plain(value: Any) -> Any:
    """What orjson cannot write, as something that it can."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return list(value)
    return str(value)
