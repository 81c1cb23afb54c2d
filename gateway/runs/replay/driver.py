"""Drives a run once more, out of its record: the same loop, with nobody asked, nothing sent and nothing written.

What the loop does with the recorded answers and results must come to what the rows say; where it does not, or where a
row is not what the ledger was told of it, that is a difference.
"""

import time
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from audit.canonical import NotCanonical, sha256_hex
from audit.checks import statements
from audit.log import leaves
from gateway.providers.interface import Prompt, ToolMessage
from gateway.runs import loop
from gateway.runs.errors import NoSuchResponse
from gateway.runs.execution import RunExecution, RunLost
from gateway.runs.prompting import messages as prompts
from gateway.runs.replay.ports import ReplayPorts
from gateway.runs.replay.recording import Recording, Row, load
from gateway.runs.replay.state import Difference, RecordingEnds, ReplayState
from gateway.runs.replay.unit_of_work import name_of
from gateway.runs.rows import RunCall
from gateway.runs.view import RunView
from tenants.scope import rows, transactions
from tools.invocation.in_worker.outcomes import MAX_OUTPUT_BYTES

_OF_RUN = ("status", "incomplete_reason", "error_code", "error_message", "error_status")
_COUNTED = ("turns", "input_tokens", "output_tokens")
_OF_CALL = ("status", "error_code", "error_message", "error_field", "display")
_TILE = "SELECT index, hashes FROM ledger_tiles WHERE level = 0 AND index = ANY(%s)"
_HASHES, _BYTES = 256, 32


@dataclass(slots=True)
class Replayed:
    """What a replay came to: `stopped` says why it could not go to the end, if so; `view` is the run as it drove it.

    `fits` counts entries whose commitment was made again, by whether they are sealed.
    """

    recording: Recording
    view: RunView | None = None
    prompts: list[Prompt] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    stopped: str = ""
    fits: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    erased: int = 0

    def differ(self, where: str, what: str, expected: object, got: object) -> None:
        """Keep a difference, if it is one."""
        if expected != got:
            self.differences.append(Difference(where, what, expected, got))


async def replay(run_id: uuid.UUID) -> Replayed:
    """Replay one run; raises recordings.NoSuchRun."""
    try:
        recording = await load(run_id)
    except NoSuchResponse as gone:
        raise RecordingEnds(f"what the run goes on from is gone: {gone.detail}") from None
    found = Replayed(recording)
    await _check_entries(found)
    for call in recording.calls:
        _check_hashes(found, call)
    if recording.run is None:
        found.stopped = "the run was deleted with its conversation; its calls are all that is left"
        return found
    for call in recording.calls:
        if recording.turn(call.turn) is None:
            found.differ(name_of(call), "its turn", "one of the run's turns", "no such turn")
    state = ReplayState(recording, recording.run)
    found.view, found.prompts = await _driven(found, state), state.prompts
    found.differences += state.differences
    if not found.stopped:
        _compare(found, state)
    return found


async def _driven(found: Replayed, state: ReplayState) -> RunView:
    """The run as the loop takes it: from its beginning, and on after each time that it waited for humans."""
    recording, run = state.recording, state.run
    begun: dict[str, Any] = dict.fromkeys(("incomplete_reason", "error_code", "error_message", "error_status"))
    begun |= dict.fromkeys(_COUNTED, 0)
    view = RunView(replace(run, **begun, status="in_progress", fence=1))
    execution = RunExecution(
        view,
        recording.scope,
        recording.shown,
        time.monotonic() + 24 * 3600,
        streams=any(turn.finish_reason == "cut_off" for turn in recording.turns),
        ports=ReplayPorts(state),
        asked=recording.asked,
        transcript=recording.transcript,
    )
    try:
        while True:
            await loop.drive(execution)
            if not view.suspended:
                break
            if not state.decide():
                if run.status == "requires_action":
                    break
                raise state.end()
            view.run = replace(view.run, status="in_progress")
    except RunLost:
        # Cancelled from outside, which is nothing that the loop decides.
        view.run = replace(view.run, **{name: getattr(run, name) for name in _OF_RUN})
        state.calls |= {call.id: call for call in recording.calls if call.id in state.calls}
    except RecordingEnds as end:
        found.stopped = str(end)
    except Exception as error:
        # Rows that nobody but their owner can have made so: what was found until here is told all the same.
        found.stopped = "the loop cannot be driven over these rows"
        found.differ("run", "the rows", "what the loop can have written", f"{type(error).__name__}: {error}")
    return view


# --- what it comes to ------------------------------------------------------------------------------------------------
def _compare(found: Replayed, state: ReplayState) -> None:
    """Hold what the loop came to against the rows."""
    assert found.view is not None
    for name in (*_OF_RUN, *_COUNTED):
        found.differ("run", name, getattr(state.run, name), getattr(found.view.run, name))
    found.differ("run", "number of turns", len(found.recording.turns), found.view.run.turns)
    if state.said is not None:
        found.differ("run", "answer", found.recording.answer, state.said)
    limit = state.run.profile["max_result_bytes"]
    calls = {prompts.call_id(call.id): call for call in found.recording.calls}
    for number, prompt in enumerate(found.prompts, 1):
        for message in prompt.messages:
            if isinstance(message, ToolMessage) and (call := calls.get(message.call_id)) is not None:
                expected = prompts.result(call, limit)
                found.differ(name_of(call), f"what the model was given in turn {number}", expected, message.content)
    for call in found.recording.calls:
        got = state.calls.get(call.id)
        if got is None:
            found.differ(name_of(call), "the call", "recorded", "not made by the loop")
            continue
        for name in _OF_CALL:
            found.differ(name_of(call), name, getattr(call, name), getattr(got, name))


def _check_hashes(found: Replayed, call: RunCall) -> None:
    """Hold a call's arguments and output against their hashes."""
    if call.row_key is None:
        return
    pairs = [("params_hash", "input"), ("approved_params_hash", "approved_input")]
    if call.output_bytes is not None and call.output_bytes <= MAX_OUTPUT_BYTES:
        pairs.append(("output_hash", "output"))
    for kept, name in pairs:
        expected = getattr(call, kept)
        if expected is None:
            continue
        try:
            got = sha256_hex(getattr(call, name))
        except NotCanonical as error:
            got = str(error)
        found.differ(name_of(call), f"{kept} of its {name}", expected, got)


# --- the ledger ------------------------------------------------------------------------------------------------------
async def _check_entries(found: Replayed) -> None:
    """Make every commitment about the calls again, and look for each sealed entry's leaf in the log."""
    decisions = {row["id"]: row for row in found.recording.decisions}
    for call in found.recording.calls:
        entries = [entry for entry in found.recording.entries if entry["call_id"] == call.id]
        kinds = [entry["kind"] for entry in entries]
        found.differ(name_of(call), "number of proposed entries", 1, kinds.count("proposed"))
        found.differ(name_of(call), "number of settled entries", int(call.final), kinds.count("settled"))
        decided = iter([row for row in found.recording.decisions if row["call_id"] == call.id])
        for entry in entries:
            if entry["kind"] not in statements.OF_CALL:
                continue
            if call.row_key is None:
                found.erased += 1
                continue
            record = None
            if entry["kind"] == "answered":
                record = found.recording.answers.get(entry["record_id"])
            if entry["kind"] == "decided":
                # Older entries do not name their decision; they came in the same order.
                record = decisions.get(entry["record_id"]) if entry["record_id"] else next(decided, None)
            if _fits(entry, call, record):
                found.fits[entry["leaf_index"] is not None] += 1
            else:
                what = f"entry {entry['seq']}, {entry['kind']}"
                found.differ(name_of(call), what, "a row that fits its commitment", "a row that was changed")
    await _check_leaves(found)


def _fits(entry: Row, call: RunCall, record: Row | None) -> bool:
    try:
        stated = statements.made_again(entry, rows.values(call), record)
    except ValueError:
        return False
    return stated is not None and stated.fits(bytes(entry["commitment"]))


async def _check_leaves(found: Replayed) -> None:
    sealed = [entry for entry in found.recording.entries if entry["leaf_index"] is not None]
    indexes = {entry["leaf_index"] // _HASHES for entry in sealed}
    found_tiles = await transactions.fetch(_TILE, [list(indexes)], login="operator") if sealed else []
    tiles = {row["index"]: bytes(row["hashes"]) for row in found_tiles}
    for entry in sealed:
        tile, place = divmod(entry["leaf_index"], _HASHES)
        kept = tiles.get(tile, b"")[place * _BYTES : (place + 1) * _BYTES]
        if leaves.leaf_hash(entry) != kept:
            where = f"entry {entry['seq']}"
            found.differ(where, f"leaf {entry['leaf_index']} of the log", "the entry", "something else")
