"""The tests that a change concerns: `make test-changed` runs them, `python -m tests.changed` lists them.

    python -m tests.changed                       for what is not committed yet
    python -m tests.changed --since main          for what is new since `main`, too
    python -m tests.changed --minutes 5           as many as take five minutes; 0: all of them
    python -m tests.changed tools/gates/order.py  for a change of this file

A file concerns whoever imports it (the graph of import-linter), whoever names it (a template, a SQL function, a
command), and whoever sends requests to its URLs. From a changed file that leads to tests in one step or in several.
Those that are fewer steps away come first, and of these the ones that are named alike, until the time is used up. Where
it leads to none, every test is listed: as `tests`. It is for the work on a change; what is merged has passed them all.
"""

import argparse
import subprocess
import sys

from tests.changed import choice
from tests.changed.references import Sources


def main() -> int:
    """Print the files of tests on standard output, and on standard error how many they are of how many."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.changed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="what has changed; git says it where nothing is given")
    parser.add_argument("--since", default="HEAD", help="a commit")
    parser.add_argument("--minutes", type=float, default=choice.MINUTES)
    given = parser.parse_args()
    try:
        changed = given.files or choice.changed_files(given.since)
        sources = Sources()
    except (OSError, subprocess.CalledProcessError) as error:
        return _all(f"git does not say what has changed: {error}")
    if not changed:
        print(f"nothing has changed since {given.since}", file=sys.stderr)
        return 0
    distances = choice.concerned(changed, sources)
    if isinstance(distances, choice.Undecided):
        return _all(str(distances))
    seconds = choice.seconds_of(distances, sources)
    chosen = choice.within(distances, seconds, given.minutes)
    print(
        f"{len(chosen)} of the {len(distances)} files of tests that the change concerns: about "
        f"{sum(seconds[each] for each in chosen):.0f} of {sum(seconds.values()):.0f} seconds",
        file=sys.stderr,
    )
    print("\n".join(chosen))
    return 0


def _all(why: str) -> int:
    print(f"every test, since {why}", file=sys.stderr)
    print("tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
