"""Pictures and documents in the requests of clients: what they are by their bytes.

An address is the application's own and goes to the provider as it is; Toolgate never fetches it.
"""

import base64
import binascii
from dataclasses import replace
from typing import TypeVar

from gateway.providers import media
from gateway.providers.interface import Document, Image, Part, PromptMessage, ToolMessage, UserMessage
from gateway.runs.prompting.client_request import BadRequest, ClientRequest
from tools.files.content import kind_of

# As much base64 as the longest signature needs.
_BEGINNING = 64
_DOCUMENTS = frozenset({"application/pdf"})
_PICTURES = media.EVERY - _DOCUMENTS
_Message = TypeVar("_Message", UserMessage, ToolMessage)


def checked(request: ClientRequest) -> ClientRequest:
    """The request with the types that the parts have by their bytes, whatever it says.

    Raises BadRequest for what is neither a picture nor a PDF.
    """
    if not any(isinstance(each, UserMessage | ToolMessage) and each.parts for each in request.messages):
        return request
    return replace(request, messages=tuple(_message(at, each) for at, each in enumerate(request.messages)))


def _message(at: int, message: PromptMessage) -> PromptMessage:
    if isinstance(message, UserMessage):
        return _with_types(at, message)
    return _with_types(at, message) if isinstance(message, ToolMessage) else message


def _with_types(at: int, message: _Message) -> _Message:
    return replace(message, parts=tuple(_part(at, part) for part in message.parts)) if message.parts else message


def _part(at: int, part: Part) -> Part:
    if isinstance(part, Image) and part.url:
        return part
    if isinstance(part, Image | Document):
        found = _type_of(part.data)
        if found not in (_PICTURES if isinstance(part, Image) else _DOCUMENTS):
            wanted = "picture (PNG, JPEG, GIF, WebP)" if isinstance(part, Image) else "PDF"
            raise BadRequest(f"Message {at + 1} has a part that is no {wanted} by its bytes.", "messages")
        return replace(part, media_type=found)
    return part


def _type_of(data: str) -> str:
    try:
        return kind_of(base64.b64decode(data[:_BEGINNING], validate=True)).media_type
    except (binascii.Error, ValueError):
        return ""
