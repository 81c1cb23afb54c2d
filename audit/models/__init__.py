"""The audit log's tables. Only `audit.calls.recorder` and `audit.calls.begun` write calls and entries."""

from audit.models.actions import Erasure, HistoryRead, SettingChange
from audit.models.calls import FINAL, CallCount, ErrorCode, Origin, Status, TaintSource, ToolCall
from audit.models.ledger import Checkpoint, LedgerEntry, LedgerKey, LedgerTile

__all__ = [
    "FINAL",
    "CallCount",
    "Checkpoint",
    "Erasure",
    "ErrorCode",
    "HistoryRead",
    "LedgerEntry",
    "LedgerKey",
    "LedgerTile",
    "Origin",
    "SettingChange",
    "Status",
    "TaintSource",
    "ToolCall",
]
