"""A streamed chat completion: chunks as server-sent events, the finish and `toolgate` in the last of them."""

from collections import defaultdict
from typing import Any

import orjson

from gateway.compat.chat_completions import answers, errors
from gateway.compat.interface import Reply
from gateway.providers.interface import Opaque
from gateway.providers.openai.answers import OF_ANSWER, OF_CHOICE, OF_MESSAGE
from gateway.runs.prompting.client_request import ClientRequest

DONE = b"data: [DONE]\n\n"
_KEEP_ALIVE = b": keep-alive\n\n"
# Some clients treat these as line ends; inside of JSON they occur in strings only.
_LINE_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


class ChunkWriter:
    """Writes one streamed chat completion; see `StreamWriter`."""

    def __init__(self, *, id: str, created: int, model: str, request: ClientRequest):
        self._head = {
            "id": answers.completion_id(id),
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        # With usage to come in a chunk of its own, every other chunk says that it has none.
        self._tail: dict[str, Any] = {"usage": None} if request.include_usage else {}
        self._echo = request.echo
        self._written: dict[int, list[str]] = defaultdict(list)
        self._refused: dict[int, str] = {}

    def begin(self) -> bytes:
        """The chunk with the role."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def opaque(self, turn: int, part: Opaque) -> bytes:
        """A thought or a refusal in its field; nothing for what chat completions have no place for."""
        found = answers.aside(part)
        if found is None:
            return b""
        name, value = found
        if name == "refusal":
            self._refused[turn] = self._refused.get(turn, "") + value
        return self._chunk({name: value})

    def text(self, turn: int, text: str) -> bytes:
        """A chunk with the next piece of text; nothing where it was sent as a refusal already."""
        if not text:
            return b""
        between = answers.BETWEEN_TURNS if self._written and turn not in self._written else ""
        self._written[turn].append(text)
        refused = self._refused.get(turn, "")
        if refused.startswith(text):
            self._refused[turn] = refused[len(text) :]
            return b""
        return self._chunk({"content": between + text})

    def call(self, turn: int, body: dict[str, Any]) -> bytes:
        """Nothing: managed calls show in `toolgate` alone."""
        return b""

    def keep_alive(self) -> bytes:
        """A comment."""
        return _KEEP_ALIVE

    def end(self, reply: Reply) -> bytes:
        """All that is left to say."""
        chunks = [self._rest(turn.number, turn.text) for turn in reply.turns]
        chunks.append(self.text(_NOTICE, reply.notice))
        chunks += map(self._chunk, self._calls(reply))
        choice = {**answers.extra(reply, OF_CHOICE), "finish_reason": answers.finish_reason(reply, self._echo)}
        last = {**answers.extra(reply, OF_ANSWER), "toolgate": reply.toolgate}
        delta = answers.extra(reply, OF_MESSAGE)
        if self._tail:
            chunks.append(self._chunk(delta, choice))
            last = {**self._head, "choices": [], "usage": answers.usage(reply.usage), **last}
            chunks.append(_event(last))
        else:
            chunks.append(self._chunk(delta, choice, last))
        return b"".join([*chunks, DONE])

    def error(self, status: int, code: str, message: str) -> bytes:
        """An event that SDKs raise as an error, and the end of the stream."""
        return _event(errors.body(status, code, message)) + DONE

    def _rest(self, turn: int, text: str) -> bytes:
        """What of a turn's text has not been written; all of it, where something else was."""
        written = "".join(self._written.get(turn, ()))
        if written.endswith(text):
            return b""
        if text.startswith(written):
            return self.text(turn, text[len(written) :])
        return self.text(_AGAIN - turn, text)

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        """The deltas of the client's calls: each as it begins, then its arguments."""
        if reply.calls and self._echo.get("legacy"):
            made = reply.calls[0]
            begun = {"name": made.name, "arguments": ""}
            return [{"function_call": begun}, {"function_call": {"arguments": made.arguments}}]
        deltas: list[dict[str, Any]] = []
        for index, made in enumerate(reply.calls):
            whole = answers.call(made, self._echo)
            kind = whole["type"]
            begun = {name: value if name == "name" else "" for name, value in whole[kind].items()}
            given = {name: value for name, value in whole[kind].items() if name != "name"}
            deltas.append({"tool_calls": [{"index": index, **whole, kind: begun}]})
            deltas.append({"tool_calls": [{"index": index, kind: given}]})
        return deltas

    def _chunk(
        self, delta: dict[str, Any], choice: dict[str, Any] | None = None, more: dict[str, Any] | None = None
    ) -> bytes:
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **(choice or {})}]
        return _event({**self._head, "choices": choices, **self._tail, **(more or {})})


# Turns count from 1; these take the place of one for what is said beside or instead of one.
_NOTICE = 0
_AGAIN = -1


def _event(data: dict[str, Any]) -> bytes:
    line = orjson.dumps(data)
    for raw, escaped in _LINE_ENDS:
        line = line.replace(raw, escaped)
    return b"data: " + line + b"\n\n"
