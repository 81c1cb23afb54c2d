"""Verify the log against the rows that it is about, an export, or a receipt; exits 1 when something is wrong."""

import json
import os
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandError
from psycopg.rows import dict_row

from audit.checks.findings import Finding, Summary
from audit.checks.heads import lines_of
from audit.checks.processes import CannotVerify, Processes
from audit.checks.snapshots import Snapshot
from audit.checks.verification import Verification
from audit.log import checkpoints, keys
from audit.log.notes import BadNote, Verifier

MOST_JOBS = 64
VERIFIER = settings.BASE_DIR / "docs" / "verify.py"


def add_arguments(parser: Any) -> None:
    """What to verify, and with which keys."""
    parser.add_argument(
        "--public-key", action="append", default=[], metavar="VKEY", help="a key that you trust; default: ledger.pub's"
    )
    parser.add_argument(
        "--checkpoint", action="append", default=[], type=Path, metavar="FILE", help="a signed note that you stored"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--export", type=Path, metavar="FILE", help="verify an export, as docs/verify.py does")
    what.add_argument("--receipt", type=Path, metavar="FILE", help="verify a receipt, as docs/verify.py does")
    parser.add_argument(
        "--jobs",
        type=_number,
        default=_cores(),
        metavar="N",
        help="how many processes check entries; default: a core each",
    )
    parser.add_argument("--json", action="store_true", help="a JSON object a finding, and one for the summary")


def handle(options: dict[str, Any]) -> int:
    """Print what is wrong, entry by entry, and a summary."""
    trusted = _trusted(options["public_key"])
    alone = options["export"] or options["receipt"]
    if alone is not None:
        return _offline(alone, trusted)
    notes = [(str(path), _text(path)) for path in options["checkpoint"]]
    file = checkpoints.path()
    # Before the snapshot: a head that is written meanwhile is over entries that the snapshot does not have.
    length = file.stat().st_size if file.exists() else 0
    lines: Iterable[str] = lines_of(file, length) if length else ()
    url = settings.DATABASE_URLS["operator"]
    with (
        # Before there is a connection that they would inherit.
        Processes(options["jobs"], url) if options["jobs"] > 1 else nullcontext() as processes,
        psycopg.connect(url, row_factory=dict_row) as connection,
        Snapshot.of(connection) as snapshot,
    ):
        verification = Verification(snapshot, trusted, lines, notes, _progress(), processes)
        try:
            for finding in verification.found():
                _print(options["json"], finding)
        except CannotVerify as error:
            sys.stdout.write(
                f"{json.dumps({'cannot_verify': str(error)}) if options['json'] else f'CANNOT VERIFY: {error}'}\n"
            )
            return 1
    _conclude(options["json"], verification.summary)
    return 1 if verification.summary.errors else 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _number(text: str) -> int:
    """A number of processes."""
    number = int(text)
    if not 1 <= number <= MOST_JOBS:
        raise ArgumentTypeError(f"give a number from 1 to {MOST_JOBS}")
    return number


def _trusted(given: list[str]) -> list[str]:
    """The keys to hold the log to: those given, or those that have signed here, which no database can add to."""
    path = keys.public_path()
    trusted = given or (path.read_text().split() if path.exists() else [])
    for each in trusted:
        try:
            Verifier.from_text(each)
        except BadNote as error:
            raise CommandError(f"{each!r} is no public key: {error}") from None
    return trusted


def _offline(path: Path, trusted: list[str]) -> int:
    """What an outsider would do: nothing but the file and a key are looked at."""
    if not trusted:
        raise CommandError("give --public-key: there is no ledger.pub here")
    program = [sys.executable, "-I", "-S", str(VERIFIER), str(path)]
    for key in trusted:
        program += ["--public-key", key]
    return subprocess.run(program, check=False).returncode


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None


def _progress() -> Any:
    said = time.monotonic()

    def tell(what: str, count: int) -> None:
        nonlocal said
        if time.monotonic() - said > 5:
            said = time.monotonic()
            sys.stderr.write(f"{count:,} {what}\n")

    return tell


def _print(as_json: bool, finding: Finding) -> None:
    sys.stdout.write(f"{json.dumps(finding.as_json()) if as_json else finding}\n")


def _conclude(as_json: bool, summary: Summary) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"summary": asdict(summary)}) + "\n")
        return
    sys.stdout.write("\n".join(_words(summary)) + "\n")


def _words(summary: Summary) -> Iterable[str]:
    yield (
        f"{summary.entries:,} entries, {summary.sealed:,} of them in the log of {summary.log_size:,};"
        f" {summary.calls:,} calls, {summary.erased:,} of them erased, {summary.dropped:,} more went with their month;"
        f" {summary.checkpoints:,} signed heads of {', '.join(summary.origins) or 'no log yet'}"
    )
    if summary.old_versions:
        where = "docs/reference/ledger-format.md"
        yield f"{summary.old_versions:,} entries are of versions that do not cover every column; see {where}"
    if not summary.trusted:
        yield "the keys are the database's own: give --public-key to compare the log with one that you know"
    if summary.errors:
        yield f"NOT INTACT; errors: {summary.errors:,}, warnings: {summary.warnings:,}"
    else:
        yield f"intact; warnings: {summary.warnings:,}"
