"""A streamed message: Anthropic's events, block by block, `toolgate` in the one that says why the message ended."""

from typing import Any

import orjson

from gateway.compat.interface import Reply
from gateway.compat.messages import answers
from gateway.providers.anthropic import blocks
from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.interface import Opaque

# Some clients treat these as line ends; inside of JSON they occur in strings only.
_LINE_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))

Block = dict[str, Any]


class EventWriter:
    """Writes one streamed message; see `StreamWriter`.

    Parts of a turn may come before the text that they belong to: a piece of text with its citations waits for its text.
    """

    def __init__(self, *, id: str, model: str):
        self._begun = answers.begun(id, model)
        self._count = 0
        self._turn = 0
        # The pieces of the text block that is open; None when no block is.
        self._open: list[str] | None = None
        self._cited: list[Block] = []
        self._texts: dict[int, int] = {}
        self._parts: dict[int, int] = {}

    def begin(self) -> bytes:
        """The message before any content."""
        return _event("message_start", message=self._begun)

    def opaque(self, turn: int, part: Opaque) -> bytes:
        """A block of its own; what is another family's does not show."""
        self._parts[turn] = self._parts.get(turn, 0) + 1
        begun = self._begin_turn(turn)
        if part.family != FAMILY:
            return begun
        if part.raw.get("type") == "text":
            self._cited.append(part.raw)
            return begun + self._cite()
        return begun + self._close() + self._block(part.raw)

    def text(self, turn: int, text: str) -> bytes:
        """The next piece, in the turn's open block or a new one."""
        if not text:
            return b""
        self._texts[turn] = self._texts.get(turn, 0) + len(text)
        return self._begin_turn(turn) + self._flow(text)

    def call(self, turn: int, body: dict[str, Any]) -> bytes:
        """Nothing: managed calls show in `toolgate` alone."""
        return b""

    def keep_alive(self) -> bytes:
        """A ping."""
        return _event("ping")

    def end(self, reply: Reply) -> bytes:
        """All that is left to say."""
        pieces: list[bytes] = []
        for turn in reply.turns:
            pieces += [self.opaque(turn.number, part) for part in turn.opaque[self._parts.get(turn.number, 0) :]]
            pieces.append(self.text(turn.number, turn.text[self._texts.get(turn.number, 0) :]))
        pieces.append(self._close())
        if reply.notice:
            pieces.append(self._block(blocks.text(reply.notice)))
        pieces += [self._block(answers.tool_use(call)) for call in reply.calls]
        delta, beside, usage = answers.stop(reply), answers.beside(reply), answers.usage(reply.usage)
        pieces.append(_event("message_delta", delta=delta, usage=usage, **beside, toolgate=reply.toolgate))
        pieces.append(_event("message_stop"))
        return b"".join(pieces)

    def error(self, status: int, code: str, message: str) -> bytes:
        """An event that SDKs raise as an error."""
        return _event(**answers.error(status, message))

    # --- text and its citations ---
    def _begin_turn(self, turn: int) -> bytes:
        """Close what an earlier turn has left open."""
        if turn == self._turn:
            return b""
        self._turn = turn
        self._cited.clear()
        return self._close()

    def _flow(self, text: str) -> bytes:
        written = b""
        while text and self._cited:
            cited = self._cited[0].get("text") or ""
            so_far = "".join(self._open or ())
            start = (so_far + text).find(cited) - len(so_far)
            end = start + len(cited)
            if start < -len(so_far) or end <= 0:
                break
            if start >= 0:
                # The piece is in a separate block.
                written += self._write(text[:start]) + self._close()
            written += self._write(text[max(start, 0) : end]) + self._cite()
            text = text[end:]
        return written + self._write(text)

    def _write(self, text: str) -> bytes:
        if not text:
            return b""
        begun = b""
        if self._open is None:
            self._open = []
            begun = self._start(blocks.text(""))
        self._open.append(text)
        return begun + self._delta("text_delta", text=text)

    def _cite(self) -> bytes:
        """The citations of the open block, when their text has come; they close it.

        Text that ran ahead of them stays in the block: it can have no end where nobody knew of one yet.
        """
        if not self._open or not self._cited or (self._cited[0].get("text") or "") not in "".join(self._open):
            return b""
        citations = self._cited.pop(0).get("citations") or ()
        return b"".join(self._delta("citations_delta", citation=each) for each in citations) + self._close()

    # --- blocks ---
    def _block(self, raw: Block) -> bytes:
        """A whole block: as it begins, what follows in pieces, and its end."""
        kind = raw.get("type")
        begun, deltas = raw, []
        if kind == "text":
            begun = {**raw, "text": ""}
            deltas = [self._delta("text_delta", text=raw["text"])]
        elif kind == "thinking":
            begun = {**raw, "thinking": "", "signature": ""}
            deltas = [self._delta("thinking_delta", thinking=raw["thinking"])] if raw.get("thinking") else []
            deltas += [self._delta("signature_delta", signature=raw["signature"])] if raw.get("signature") else []
        elif isinstance(raw.get("input"), dict):
            begun = {**raw, "input": {}}
            deltas = [self._delta("input_json_delta", partial_json=orjson.dumps(raw["input"]).decode())]
        return b"".join([self._start(begun), *deltas, self._stop()])

    def _start(self, block: Block) -> bytes:
        return _event("content_block_start", index=self._count, content_block=block)

    def _delta(self, kind: str, **more: Any) -> bytes:
        return _event("content_block_delta", index=self._count, delta={"type": kind, **more})

    def _stop(self) -> bytes:
        self._count += 1
        return _event("content_block_stop", index=self._count - 1)

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return self._stop()


def _event(type: str, **data: Any) -> bytes:
    line = orjson.dumps({"type": type, **data})
    for raw, escaped in _LINE_ENDS:
        line = line.replace(raw, escaped)
    return b"event: " + type.encode() + b"\ndata: " + line + b"\n\n"
