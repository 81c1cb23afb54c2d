"""What a tool may ask its user: bounded, in words that can be shown, with a schema that an answer can be held to."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from audit.canonical import NotCanonical, canonical
from tools.errors import ToolExecutionError
from tools.questions import InputRequired, Question
from tools.schemas.schema import InvalidToolDeclaration, declare

MOST_QUESTIONS = 10
MAX_MESSAGE = 4000
MAX_KEY = 200
MAX_URL = 2000
MAX_STATE_BYTES = 64 * 1024
MAX_REQUEST_BYTES = 64 * 1024
# What an MCP client can be asked beside its user's answers.
OF_CLIENT = ("sampling/createMessage", "roots/list")


def checked(tool_name: str, required: InputRequired, *, of_client: bool = False) -> InputRequired:
    """The questions as they are asked: answers may hold nothing that their schema does not name. `of_client`: an MCP
    client has made the call, and can be asked, too.

    Raises ToolExecutionError for what nobody can be asked.
    """
    if not of_client and any(each.request is not None for each in required.questions):
        raise _not_askable(tool_name, "what only an MCP client can answer, and none has made this call")
    if not 1 <= len(required.questions) <= MOST_QUESTIONS:
        raise _not_askable(tool_name, f"{len(required.questions)} questions at once; 1 to {MOST_QUESTIONS} can be")
    if len({each.key for each in required.questions}) != len(required.questions):
        raise _not_askable(tool_name, "two questions under one key")
    try:
        state = json.dumps(required.state)
    except (TypeError, ValueError, RecursionError):
        raise _not_askable(tool_name, "something with a state that is no JSON") from None
    if len(state) > MAX_STATE_BYTES:
        raise _not_askable(tool_name, f"something with a state of more than {MAX_STATE_BYTES:,} bytes")
    return InputRequired(tuple(_checked(tool_name, each) for each in required.questions), required.state)


def _checked(tool_name: str, question: Question) -> Question:
    message = "".join(each if each.isprintable() or each in "\n\t" else " " for each in question.message)
    for text, most in ((question.key, MAX_KEY), (message, MAX_MESSAGE), (question.url or "", MAX_URL)):
        if len(text) > most:
            raise _not_askable(tool_name, f"something with a text of more than {most:,} characters")
    if not f"{question.key}{question.url or ''}".isprintable():
        raise _not_askable(tool_name, "something under an unprintable name")
    question = replace(question, message=message)
    if [question.schema, question.url, question.request].count(None) != 2:
        raise _not_askable(tool_name, "something that is not one of a schema, a page and a request to its client")
    if question.request is not None:
        return _with_request(tool_name, question, question.request)
    if question.url is not None:
        return _with_url(tool_name, question, question.url)
    schema = {name: value for name, value in (question.schema or {}).items() if name != "$schema"}
    schema |= {"additionalProperties": False}
    try:
        canonical(schema)
        declare(schema)
    except (InvalidToolDeclaration, NotCanonical) as error:
        raise _not_askable(tool_name, f"something with a schema that cannot be used ({error})"[:500]) from None
    return replace(question, schema=schema)


def _with_request(tool_name: str, question: Question, request: dict[str, Any]) -> Question:
    try:
        size = len(canonical(request))
    except (NotCanonical, RecursionError):
        raise _not_askable(tool_name, "its client something that is no JSON") from None
    if size > MAX_REQUEST_BYTES or set(request) - {"method", "params"} or request.get("method") not in OF_CLIENT:
        raise _not_askable(tool_name, f"its client something else than {' or '.join(OF_CLIENT)}, or too much")
    return question


def _with_url(tool_name: str, question: Question, url: str) -> Question:
    try:
        parts: Any = urlsplit(url)
        sound = parts.scheme in ("https", "http") and bool(parts.hostname) and not parts.username
    except ValueError:
        sound = False
    if not sound or any(character.isspace() for character in url):
        raise _not_askable(tool_name, "its user to visit what is no page on the web")
    return question


def _not_askable(tool_name: str, what: str) -> ToolExecutionError:
    return ToolExecutionError(f"{tool_name} asked {what}. Nobody was asked, and the call was stopped.")
