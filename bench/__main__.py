"""`python -m bench [--quick] [--compare] [--json FILE]`: starts what it needs, measures, prints, and stops it again."""

import argparse
import sys
import time
from pathlib import Path

import orjson

from bench import suite
from bench.reporting import compare, report
from bench.rig.stack import Stack


def main() -> int:
    """The exit code: 0 when everything was measured, whether or not the targets are met; 1 when `--compare` finds more
    round trips than the baseline has."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute or two instead of eight: one short round")
    parser.add_argument("--compare", action="store_true", help="also print the committed baseline beside this run")
    parser.add_argument("--baseline", action="store_true", help="make this run the baseline")
    parser.add_argument("--web", metavar="N", type=int, default=1, help="web processes, as WEB_CONCURRENCY (1)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write every figure as JSON")
    given = parser.parse_args()
    if sys.platform != "linux":
        parser.error("the figures are read from /proc, which only Linux has")
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"[{time.monotonic() - began:5.1f} s] {what}", file=sys.stderr, flush=True)

    effort = "quick" if given.quick else "full"
    say("starting PostgreSQL, Valkey, web, worker, beat, and the fakes")
    with Stack(web_concurrency=given.web) as stack:
        measured = suite.run(stack, suite.QUICK if given.quick else suite.FULL, say)
    if given.json:
        given.json.write_bytes(orjson.dumps(measured, option=orjson.OPT_INDENT_2))
    print(report.text(measured))
    more = False
    if given.compare:
        baseline = compare.read()
        compared = compare.changes(measured, baseline)
        print("\n".join(compare.lines(compared, baseline, effort)))
        more = compare.failed(compared)
    if given.baseline:
        compare.write(measured, effort)
    say("done")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
