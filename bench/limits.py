"""`python -m bench.limits [--seconds N]`: the worst 60 seconds of a limit, over three processes, with Redis killed.

Each process asks as often as it can for the whole time. Redis decides somewhere between a question and its answer, so
what is let through counts as within 60 seconds when both are.
"""

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

from bench.rig.stack import ROOT
from gateway.embedded.services.together import EmbeddedServices

PROCESSES, LIMIT, WINDOW = 3, 30, 60.0
_PAUSE = 0.02


def main() -> int:
    """Ask, restart, and print; 1 when some 60 seconds had more than the limit."""
    options = argparse.ArgumentParser(prog="bench.limits")
    options.add_argument("--seconds", type=float, default=200.0)
    options.add_argument("--ask", metavar="USER", help="only ask, as one of the processes")
    given = options.parse_args()
    if given.ask:
        asyncio.run(_ask(given.ask, given.seconds))
        return 0
    directory, user = Path(tempfile.mkdtemp(prefix="toolgate-limits-")), str(uuid.uuid4())
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        services = stack.enter_context(EmbeddedServices(directory, postgres=False))
        assert services.valkey is not None
        # Nothing asks the database.
        nowhere = dict.fromkeys(("DATABASE_URL", "DATABASE_OWNER_URL"), "postgresql://nobody@127.0.0.1:1/none")
        more = nowhere | {"REDIS_URL": services.redis_url, "DJANGO_SETTINGS_MODULE": "gateway.config.settings"}
        command = [sys.executable, "-m", "bench.limits", "--ask", user, "--seconds", str(given.seconds)]
        asking = [
            subprocess.Popen(command, cwd=ROOT, env=os.environ | more, stdout=subprocess.PIPE, text=True)
            for _ in range(PROCESSES)
        ]
        for share in (0.3, 0.4):
            time.sleep(given.seconds * share)
            assert services.valkey.pid is not None
            os.kill(services.valkey.pid, signal.SIGKILL)
            services.valkey.restart()
        said = [each.communicate()[0].split() for each in asking]
    spans = [tuple(map(float, word.split("-"))) for words in said for word in words[:-2]]
    asked, away = (sum(int(words[at]) for words in said) for at in (-2, -1))
    worst = _worst(spans)
    print(
        f"{PROCESSES} processes asked {asked:,} times in {given.seconds:.0f} s, {away:,} times in vain while Redis was "
        f"away; limit {LIMIT} in {WINDOW:.0f} s: let through {len(spans)}, worst {WINDOW:.0f} s: {worst}"
    )
    return int(worst > LIMIT)


def _worst(spans: list[tuple[float, ...]]) -> int:
    """The most of the questions and answers that are surely in one window, wherever it begins."""
    return max(
        (sum(begin <= asked and answered <= begin + WINDOW for asked, answered in spans) for begin, _ in spans),
        default=0,
    )


async def _ask(user: str, seconds: float) -> None:
    import django

    django.setup()
    from tools.gates import rate_counter
    from tools.gates.rate_counter import LimitsUnavailable

    until, asked, away = time.monotonic() + seconds, 0, 0
    whose = {"tenant_id": uuid.UUID(user), "user_id": uuid.UUID(user), "tool": "save_note", "rate": f"{LIMIT}/m"}
    while time.monotonic() < until:
        asked, began = asked + 1, time.monotonic()
        try:
            if (await rate_counter.charge(**whose)).allowed:  # type: ignore[arg-type]
                print(f"{began:.6f}-{time.monotonic():.6f}")
        except LimitsUnavailable:
            away += 1
        await asyncio.sleep(_PAUSE)
    print(asked, away)


if __name__ == "__main__":
    sys.exit(main())
