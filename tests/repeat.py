"""The whole suite several times, each time in a clean clone of what is committed: `make test-repeat`.

    python -m tests.repeat                        ten times
    python -m tests.repeat --times 4 --busy 2     four times, beside two processes that keep a core busy each
    python -m tests.repeat --at-once 2            two whole suites beside each other: harder than two busy processes

Prints a line for each run, and ends with 1 when one of them did not pass. The clone of such a run stays where the line
says, with what it printed in `run.log`; no test is run a second time within a run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# How pytest ends.
_CLOSING = re.compile(r"^(?:\d+ (?:failed|passed)).*$", re.MULTILINE)
# Also where this process is killed, a busy one ends.
_BUSY = [sys.executable, "-c", "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"]


class Run(NamedTuple):
    """One run of the suite: whether it passed, how pytest says that it ended, and where all that it printed is."""

    passed: bool
    said: str
    seconds: float
    clone: Path


def main(arguments: list[str] | None = None, source: Path = ROOT) -> int:
    """Run the suite of `source` as the arguments say; 0 when it passed each time."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.repeat", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=10, help="how many runs; 10 unless told")
    parser.add_argument("--busy", type=int, default=0, help="processes that keep a core busy meanwhile")
    parser.add_argument("--at-once", type=int, default=1, help="how many runs beside each other")
    given = parser.parse_args(arguments)
    if min(given.times, given.at_once) < 1 or given.busy < 0:
        parser.error("--times and --at-once are 1 or more, --busy is 0 or more")
    passed = 0
    with _busy(given.busy), ThreadPoolExecutor(given.at_once) as threads:
        for number, run in enumerate(threads.map(_run, [source] * given.times), 1):
            passed += run.passed
            where = "" if run.passed else f"; see {run.clone / 'run.log'}"
            print(f"{number}: {run.said} ({run.seconds:.0f} s){where}", flush=True)
            if run.passed:
                shutil.rmtree(run.clone)
    print(f"{passed} of {given.times} runs passed")
    return 0 if passed == given.times else 1


@contextmanager
def _busy(count: int) -> Iterator[None]:
    processes = [subprocess.Popen(_BUSY) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _run(source: Path) -> Run:
    clone = Path(tempfile.mkdtemp(prefix="toolgate-suite-"))
    began = time.monotonic()
    with (clone / "run.log").open("w+", errors="replace") as log:
        # Not a link to the objects of this checkout, and not the flags of the `make` that may have started this.
        clones = ["git", "clone", "--quiet", "--no-local", os.fspath(source), "checkout"]
        status = subprocess.run(clones, cwd=clone, stdout=log, stderr=log).returncode
        if status == 0:
            # Where nothing may be skipped, the conformance suite has to be there.
            goals = ["conformance", "test"] if "CI" in os.environ else ["test"]
            environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
            # `make` passes on what it was given for `test-repeat`.
            status = subprocess.run(
                ["make", *goals, "ARGS="],
                cwd=clone / "checkout",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            ).returncode
        log.seek(0)
        closing = _CLOSING.findall(log.read())
    said = closing[-1] if closing else "not one test ended"
    return Run(status == 0 and bool(closing), said, time.monotonic() - began, clone)


if __name__ == "__main__":
    sys.exit(main())
