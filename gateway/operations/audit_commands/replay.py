"""Replay a run out of its record and show where the record differs from what the loop would have done.

The same loop is driven over the recorded answers of the model and the recorded results of its tools: nobody is asked,
nothing is sent, nothing is written. Each call is held against its hashes and its ledger entries.

With --export nothing is driven: the record is written as JSON lines, one replay event each.

Exits with 0 when nothing differs, 1 when something does or the run to export is not over, 2 when there is no such run.
"""

import asyncio
import json
import sys
import uuid
from pathlib import Path
from typing import Any

from audit.history import reads
from audit.templatetags.audit_text import took, visible
from gateway.operations.audit_commands import files
from gateway.providers.interface import ToolMessage
from gateway.runs.errors import RunNotOver
from gateway.runs.prompting.messages import call_id, size
from gateway.runs.replay import events
from gateway.runs.replay.driver import Replayed, replay
from gateway.runs.replay.recording import NoSuchRun, Recording, load
from gateway.runs.replay.state import Difference, RecordingEnds
from gateway.runs.rows import RunCall
from tenants.scope import transactions
from tenants.scope.routing import on_login

_SHOWN = 300


def add_arguments(parser: Any) -> None:
    """Which run, and what to do with it."""
    parser.add_argument("run", type=uuid.UUID, help="the run's id")
    parser.add_argument(
        "--export", nargs="?", const="-", metavar="FILE", help="write its replay events to FILE, or to standard output"
    )


def handle(options: dict[str, Any]) -> int:
    """Print the transcript in short, and every difference; or export it."""
    if options.get("export"):
        return _exported(options["run"], options["export"])
    try:
        found = asyncio.run(_replayed(options["run"]))
    except NoSuchRun:
        sys.stderr.write(f"There is no run {options['run']}, and no call of one.\n")
        return 2
    except RecordingEnds as end:
        sys.stdout.write(f"Not replayed: {end}.\n")
        return 0
    for line in lines_of(found):
        sys.stdout.write(f"{line}\n")
    return 1 if found.differences else 0


def _exported(run_id: uuid.UUID, path: str) -> int:
    """Put on record that the run is exported, then write its events: all of them, or nothing."""
    try:
        recording = asyncio.run(_loaded(run_id))
        lines = list(events.of_recording(run_id, recording))
    except NoSuchRun:
        sys.stderr.write(f"There is no run {run_id}, and no call of one.\n")
        return 2
    except RunNotOver as refusal:
        sys.stderr.write(f"{refusal.detail}\n")
        return 1
    whose = (recording.scope.tenant_id, recording.scope.user_id)
    shown: dict[tuple[uuid.UUID, uuid.UUID | None], int] = {whose: len(recording.calls)}
    with on_login("operator"):
        reads.record(reader_id=None, shown=shown, action=reads.Action.RUN, via="command", filters={"run": run_id})
    if path == "-":
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
        return 0
    files.write(Path(path), lines)
    sys.stderr.write(f"{len(lines):,} events of {_many(len(recording.calls), 'call')}\n")
    return 0


async def _loaded(run_id: uuid.UUID) -> Recording:
    try:
        return await load(run_id, driven=False)
    finally:
        await transactions.close_pools()


async def _replayed(run_id: uuid.UUID) -> Replayed:
    try:
        return await replay(run_id)
    finally:
        await transactions.close_pools()


def lines_of(found: Replayed) -> list[str]:
    """The replay for people, a line each."""
    lines = _head(found)
    for number, prompt in enumerate(found.prompts, 1):
        turn = found.recording.turn(number)
        length = sum(map(size, prompt.messages))
        lines.append(f"turn {number}: asked with {_many(len(prompt.messages), 'message')}, {length:,} characters")
        if turn is None:
            lines.append("  not answered")
            continue
        spent = f"{turn.input_tokens:,} + {turn.output_tokens:,} tokens"
        lines.append(f"  answered {len(turn.text):,} characters, {spent}, in {took(turn.latency_ms)}")
        answers = found.prompts[number].messages if number < len(found.prompts) else ()
        results = {each.call_id: each.content for each in answers if isinstance(each, ToolMessage)}
        lines += [_call(call, results.get(call_id(call.id))) for call in found.recording.of_turn(number)]
    if not found.prompts:
        lines += [_call(call, None) for call in found.recording.calls]
    return [*lines, *_end(found)]


def _head(found: Replayed) -> list[str]:
    run = found.recording.run
    if run is None:
        return [f"{_many(len(found.recording.calls), 'call')} of a run that was deleted"]
    over = f" over {run.surface}" if run.surface else ""
    return [f"run {run.id}: {run.model}{over}, {run.status}, {_many(run.turns, 'turn')}"]


def _call(call: RunCall, result: str | None) -> str:
    outcome = call.error_code or call.status
    given = "" if result is None else f", a result of {len(result):,} characters"
    return f"  {visible(call.tool_name[:60])} {call.id}: {outcome}{given}"


def _end(found: Replayed) -> list[str]:
    lines = []
    if found.stopped:
        lines.append(f"Stopped: {found.stopped}.")
    entries = f"{found.fits[True]} sealed and {found.fits[False]} unsealed ledger entries fit"
    lines.append(entries + (f"; {found.erased} are of erased payloads" if found.erased else "") + ".")
    for each in found.differences:
        lines += _difference(each)
    if found.differences:
        lines.append(f"{_many(len(found.differences), 'difference')}.")
    else:
        lines.append("No difference as far as it went." if found.stopped else "No difference.")
    return lines


def _difference(each: Difference) -> list[str]:
    return [
        f"DIFFERENCE at {each.where}: {each.what}",
        f"  recorded: {_short(each.expected)}",
        f"  replayed: {_short(each.got)}",
    ]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return visible(text[:_SHOWN]).replace("\n", "⏎") + (f" … ({len(text):,} characters)" if len(text) > _SHOWN else "")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
