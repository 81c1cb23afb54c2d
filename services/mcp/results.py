"""What came of a call, as a tool's output or its error."""

import logging
from typing import Any

from services.execution import answers
from services.mcp.errors import HttpFailed, Malformed, McpFailed, Rejected, Unsupported
from services.mcp.exchange import Message
from tools.errors import ToolCallRejected, ToolError, ToolExecutionError, ToolPermissionDenied, ToolTimeout
from tools.network import egress
from tools.schemas import schema

log = logging.getLogger(__name__)

# What a result is kept of, as it came.
KEPT = ("content", "structuredContent", "_meta")
_SAID = 1500


def output(name: str, result: Message) -> dict[str, Any]:
    """`content`, `structuredContent` and `_meta` of a `CallToolResult`, as far as it has them.

    Raises ToolCallRejected for one that says that the tool failed, and Malformed for what is no such result.
    """
    kind = result.get("resultType", "complete")
    if kind != "complete":
        raise Malformed(f"It answered with a result of a type that Toolgate does not know: {kind!s:.80}.")
    content = result.get("content", [])
    blocks = isinstance(content, list) and all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in content
    )
    failed = result.get("isError", False)
    meta = result.get("_meta", {})
    if not blocks or not isinstance(failed, bool) or not isinstance(meta, dict):
        raise Malformed("It answered with a result that is none of a tool.")
    if failed:
        said = " ".join(block["text"] for block in content if isinstance(block.get("text"), str))
        raise ToolCallRejected(f"{name} failed. It said: {said[:_SAID]}" if said.strip() else f"{name} failed.")
    return {"content": content} | {each: result[each] for each in KEPT if each in result}


# Of a question in the middle of a call that may not be made twice.
UNANSWERED = (
    "; it asked its user in the middle of the call and was told that nobody answers, because the tool is not idempotent"
    " (an owner can say that it is)"
)


def mismatch(name: str, found: dict[str, Any], declared: dict[str, Any] | None) -> str:
    """What is to be noted where structured content is not as its tool declares it: words for people, or ""."""
    structured = found.get("structuredContent")
    if declared is None or not isinstance(structured, dict) or schema.satisfies(declared, structured) is not False:
        return ""
    log.info("structured content misses its schema", extra={"tool": name})
    return "; its structured content is not as its output schema says"


def shown(name: str, found: dict[str, Any]) -> str:
    """One line for people."""
    blocks = found["content"]
    return f"{name} answered {len(blocks):,} {'block' if len(blocks) == 1 else 'blocks'}"


def as_error(name: str, failed: McpFailed | egress.EgressFailed, elapsed: float, *, idempotent: bool) -> ToolError:
    """A failure of a call in words for the model and its user, that say who can do something about it."""
    unsure = "" if idempotent else " It may or may not have had its effect."
    if isinstance(failed, egress.EgressRefused):
        return ToolPermissionDenied(
            f"The address of {name} may not be reached: {failed} An owner can change the service's address;"
            " the operator can allow private ones (TOOLGATE_EGRESS_ALLOW)."
        )
    if isinstance(failed, egress.TooSlow):
        return ToolTimeout(f"{name} did not answer within {elapsed:.1f} seconds.{unsure}", elapsed)
    if isinstance(failed, egress.EgressFailed):
        return ToolExecutionError(f"{name} could not be reached, or cut its answer off.{unsure}")
    if isinstance(failed, Rejected):
        said = f" It said: {failed.said}" if failed.said else ""
        # Parameters, methods and requests that are wrong; what a server says of itself is beside these.
        mine = failed.code in (-32600, -32601, -32602)
        words = f"{name} answered with the error {failed.code}.{said}"
        return ToolCallRejected(words) if mine else ToolExecutionError(words)
    if isinstance(failed, HttpFailed):
        return answers.refusal(name, failed.status, failed.said, failed.missing)
    if isinstance(failed, Unsupported):
        return ToolExecutionError(f"The MCP server of {name} and Toolgate have no revision in common. {failed}")
    return ToolExecutionError(f"{name} answered what cannot be used. {failed}{unsure}")
