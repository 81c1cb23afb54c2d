"""What the supervisor passes on: whole lines, and never at the price of standing still."""

import os
import sys
from pathlib import Path

import pytest

from gateway.embedded.child import LONGEST_LINE, Child, Command
from gateway.embedded.output import MOST_BYTES, Output
from gateway.embedded.processes import wait_until
from tests.gateway.embedded.conftest import PATIENCE, is_gone


@pytest.fixture
def lines() -> list[tuple[str, bytes]]:
    return []


def ran(code: str, lines: list[tuple[str, bytes]], directory: Path) -> Child:
    """A child that has run `code` to its end, its lines in `lines`."""
    command = Command("web", (sys.executable, "-c", code), {})
    child = Child(command, directory, lambda name, line: lines.append((name, line)))
    child.start()
    assert wait_until(lambda: _ended(child), PATIENCE)
    return child


def _ended(child: Child) -> bool:
    for stream in child.streams:
        child.read(stream)
    return child.ended() is not None


def test_a_reader_that_stopped_reading_costs_the_oldest_lines_and_no_time() -> None:
    reading, writing = os.pipe()
    output = Output(writing)
    line = b"x" * 1000

    for _ in range(3000):
        output.line_of("web", line)
    output.line("ready")
    os.set_blocking(reading, False)
    taken = b""
    while output.waits_for:
        taken += os.read(reading, 1 << 20)
        output.write()
    taken += os.read(reading, 1 << 20)

    assert taken.endswith(b"\nweb    | " + line + b"\nready\n")
    assert MOST_BYTES < len(taken) < MOST_BYTES + (1 << 17)
    os.close(reading)
    os.close(writing)


def test_a_reader_that_has_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    output = Output(writing)
    os.close(reading)

    output.line("nobody reads this")
    output.line("nor this")

    assert output.waits_for == []
    os.close(writing)


def test_no_colour_goes_into_a_pipe() -> None:
    reading, writing = os.pipe()

    Output(writing).line_of("beat", b"text")

    assert os.read(reading, 100) == b"beat   | text\n"
    os.close(reading)
    os.close(writing)


def test_lines_arrive_whole_however_they_were_written(lines: list[tuple[str, bytes]], tmp_path: Path) -> None:
    code = "import os\nfor part in (b'on', b'e\\ntw', b'o\\r\\n', b'', b'three'): os.write(1, part)"

    ran(code, lines, tmp_path)

    assert lines == [("web", b"one"), ("web", b"two"), ("web", b"three")]


def test_a_line_without_end_is_passed_on_in_pieces(lines: list[tuple[str, bytes]], tmp_path: Path) -> None:
    ran(f"print('x' * {2 * LONGEST_LINE + 5})", lines, tmp_path)

    assert [len(line) for _, line in lines] == [LONGEST_LINE, LONGEST_LINE, 5]


def test_standard_error_comes_under_the_same_prefix(lines: list[tuple[str, bytes]], tmp_path: Path) -> None:
    ran("import sys; print('to stderr', file=sys.stderr)", lines, tmp_path)

    assert lines == [("web", b"to stderr")]


def test_the_first_death_is_forgiven_at_once_and_further_ones_wait_longer_up_to_a_few_seconds(
    lines: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    child = ran("", lines, tmp_path)

    waits = [child.wait]
    for _ in range(7):
        child.start()
        assert wait_until(lambda: _ended(child), PATIENCE)
        waits.append(child.wait)

    assert waits == [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_what_a_dead_process_left_in_its_group_ends_too(lines: list[tuple[str, bytes]], tmp_path: Path) -> None:
    leaves = (
        "import subprocess, sys\n"
        "left = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "print(left.pid, flush=True)"
    )

    ran(leaves, lines, tmp_path)

    (_, pid) = lines[0]
    assert is_gone(int(pid))
