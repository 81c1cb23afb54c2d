"""`python -m bench [--quick] [--json FILE]`: starts what it needs, measures, prints, and stops what it started."""

import argparse
import sys
import time
from pathlib import Path

import orjson

from bench import report, suite
from bench.stack import Stack


def main() -> int:
    """The exit code: 0 when everything was measured, whether or not the targets are met."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less than a minute instead of four: one short round")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write every figure as JSON")
    given = parser.parse_args()
    if sys.platform != "linux":
        parser.error("the figures are read from /proc, which only Linux has")
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"[{time.monotonic() - began:5.1f} s] {what}", file=sys.stderr, flush=True)

    say("starting PostgreSQL, Valkey, web, worker, beat, and the fakes")
    with Stack() as stack:
        measured = suite.run(stack, suite.QUICK if given.quick else suite.FULL, say)
    if given.json:
        given.json.write_bytes(orjson.dumps(measured, option=orjson.OPT_INDENT_2))
    print(report.text(measured))
    say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
