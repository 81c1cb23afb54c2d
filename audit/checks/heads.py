"""The log's keys, and its signed heads from every source: the database, the checkpoint file, notes of third parties."""

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from audit.checks.findings import Finding
from audit.log.keys import ENDORSEMENT
from audit.log.notes import BadNote, Checkpoint, Verifier, open_note


@dataclass(frozen=True, slots=True)
class Head:
    """A checkpoint whose signature is good, and its source."""

    checkpoint: Checkpoint
    source: str
    created_at: datetime | None = None

    def __str__(self) -> str:
        return f"the head of {self.checkpoint.size} entries {self.source}"


class Keys:
    """The keys of `ledger_keys`, each endorsed by the one before it; `findings` say which are not.

    `trusted` are vkeys known from elsewhere: each log (origin) of the table must have one of them.
    """

    def __init__(self, rows: Iterable[dict[str, Any]], trusted: Sequence[str]) -> None:
        self.findings: list[Finding] = []
        self.verifiers: list[Verifier] = [Verifier.from_text(each) for each in trusted]
        self.origins: list[str] = []
        self._until: dict[Verifier, int] = {}
        last: dict[str, Verifier] = {}
        for row in rows:
            try:
                verifier = Verifier.from_text(row["vkey"])
            except BadNote as error:
                self._found("key", f"key {row['id']} cannot be read: {error}")
                continue
            if verifier.name != row["origin"]:
                self._found("key", f"key {row['id']} is {verifier.name}'s, and said to be {row['origin']}'s")
            before = last.get(verifier.name)
            if before is None:
                self.origins.append(verifier.name)
                if row["endorsement"] is not None:
                    self._found("key", f"key {row['id']} is endorsed by a key that is not there")
            else:
                until = _endorsed(row, before)
                if until is None:
                    self._found("key", f"key {row['vkey']} is not endorsed by the key before it")
                    continue
                self._until[before] = until
            last[verifier.name] = verifier
            self.verifiers.append(verifier)
        if trusted:
            self._hold_to(trusted)

    def _hold_to(self, trusted: Sequence[str]) -> None:
        given = {Verifier.from_text(each) for each in trusted}
        known = self.verifiers[len(trusted) :]
        for each in given - set(known):
            self._found("key", f"the key {each.to_text()} that you trust is not one of this log's")
        for origin in self.origins:
            if not any(each.name == origin and each in given for each in known):
                self._found("key", f"no key that you trust is one of {origin}'s: was a new log begun?")

    def _found(self, rule: str, text: str) -> None:
        self.findings.append(Finding(rule, text, table="ledger_keys"))

    def read(self, note: str) -> Checkpoint:
        """The checkpoint of a note that a key of its log has signed while it was in use; raises BadNote."""
        checkpoint = Checkpoint.parse(open_note(note, self.verifiers))
        size = checkpoint.size
        in_use = [
            each for each in self.verifiers if each.name == checkpoint.origin and size <= self._until.get(each, size)
        ]
        open_note(note, in_use)
        return checkpoint


def _endorsed(row: dict[str, Any], before: Verifier) -> int | None:
    """Up to which size the key before signed; None when it does not say that this key comes after it."""
    try:
        said, vkey, size = open_note(row["endorsement"] or "", [before]).split("\n")[:-1]
    except ValueError:
        return None
    return int(size) if (said, vkey) == (ENDORSEMENT, row["vkey"]) and size.isdecimal() else None


class Heads:
    """Every head, in order of size; the wrong ones are in `findings` instead."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.findings: list[Finding] = []
        self.read = 0

    def merged(
        self, rows: Iterable[dict[str, Any]], lines: Iterable[str], notes: Iterable[tuple[str, str]]
    ) -> Iterator[Head]:
        """Heads of `ledger_checkpoints`' rows (in order), of the checkpoint file's lines, and of notes by name."""
        sources = (self._stored(rows), self._filed(lines), sorted(self._noted(notes), key=_size))
        return heapq.merge(*sources, key=_size)

    def _stored(self, rows: Iterable[dict[str, Any]]) -> Iterator[Head]:
        for row in rows:
            where = f"in the database (id {row['id']})"
            head = self._head(row["note"], where, row["created_at"], "ledger_checkpoints")
            if head is None:
                continue
            stored = (row["origin"], row["size"], bytes(row["root"]))
            if stored != (head.checkpoint.origin, head.checkpoint.size, head.checkpoint.root):
                self._found(f"{head} does not say what its note says", "ledger_checkpoints")
                if row["size"] != head.checkpoint.size:
                    continue
            yield head

    def _filed(self, lines: Iterable[str]) -> Iterator[Head]:
        largest = 0
        for number, line in enumerate(lines, 1):
            where = f"in line {number} of the checkpoint file"
            try:
                values = json.loads(line)
                note, created_at = str(values["note"]), datetime.fromisoformat(values["created_at"])
            except (ValueError, KeyError, TypeError):
                torn = not line.endswith("\n")
                severity = "warning" if torn else "error"
                self._found(f"line {number} of the checkpoint file cannot be read", "checkpoints.jsonl", severity)
                continue
            head = self._head(note, where, created_at, "checkpoints.jsonl")
            if head is None:
                continue
            if head.checkpoint.size < largest:
                self._found(f"{head} comes after a larger one", "checkpoints.jsonl")
                continue
            largest = head.checkpoint.size
            yield head

    def _noted(self, notes: Iterable[tuple[str, str]]) -> Iterator[Head]:
        for name, note in notes:
            head = self._head(note, f"in {name}", None, name)
            if head is not None:
                yield head

    def _head(self, note: str, source: str, created_at: datetime | None, table: str) -> Head | None:
        self.read += 1
        try:
            return Head(self.keys.read(note), source, created_at if isinstance(created_at, datetime) else None)
        except BadNote as error:
            self._found(f"the head {source} is not to be trusted: {error}", table)
            return None

    def _found(self, text: str, table: str, severity: str = "error") -> None:
        self.findings.append(Finding("head", text, table=table, severity=severity))


def _size(head: Head) -> int:
    return head.checkpoint.size


def lines_of(path: Path, length: int) -> Iterator[str]:
    """The lines within the first `length` bytes of a file: what existed before the database was read."""
    with path.open("rb") as file:
        while length > 0 and (line := file.readline(length)):
            length -= len(line)
            yield line.decode("utf-8", "replace")
