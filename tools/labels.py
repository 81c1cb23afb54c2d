"""What a tool reads and where it reaches: the labels that it declares, and the taint that they leave in a conversation.

A conversation that has read private data and what strangers wrote must not reach outside without a human: a stranger's
words could have a model send the private data away.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any


class Label(StrEnum):
    """What holds of a tool's calls."""

    READS_PRIVATE = "reads_private"
    """Its answer holds what not everybody may know."""
    READS_UNTRUSTED = "reads_untrusted"
    """Its answer holds what strangers wrote."""
    LEAVES_TENANT = "leaves_tenant"
    """Its arguments reach somebody outside the tenant whom they choose."""


EVERY_LABEL = frozenset(Label)
PRIVATE, UNTRUSTED = "private", "untrusted"
# What a conversation, or a row that a tool keeps, may be tainted with.
TAINTS = frozenset({PRIVATE, UNTRUSTED})
_LEFT_BY = {Label.READS_PRIVATE: PRIVATE, Label.READS_UNTRUSTED: UNTRUSTED}


def taint_of(labels: Iterable[Label]) -> frozenset[str]:
    """What the answer of a call with these labels taints its conversation with."""
    return frozenset(_LEFT_BY[label] for label in labels if label in _LEFT_BY)


def feeds_of(service: str, place: str) -> str:
    """What the feeds of a service in a prompt are named as a source; `place` is a fingerprint of what it is and where,
    so that another service that is given its name later is told from it."""
    return f"feeds of {service} #{place}"


def in_words(source: str) -> str:
    """The name of a source as people are shown it: without a fingerprint."""
    return source.partition(" #")[0] if source.startswith("feeds of ") else source


def taken_from(rows: Sequence[dict[str, Any]]) -> frozenset[str]:
    """Takes the `taint` out of rows that a tool has stored, as `ToolResult.reads` has it; no model is shown it."""
    return frozenset(label for row in rows for label in row.pop("taint"))
