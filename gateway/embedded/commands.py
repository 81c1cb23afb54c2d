"""The command lines of Toolgate's own processes, and the environment each runs in."""

import os
import sys
from collections.abc import Callable

from gateway.embedded.child import Command
from gateway.embedded.configuration import Configuration

OWNER = "DATABASE_OWNER_URL"
# The key that signs the ledger's heads.
LEDGER_KEY = "TOOLGATE_LEDGER_KEY"
# One process each: with WEB_CONCURRENCY the server would start more.
WEB = ("gateway.server", "gateway.config.asgi:application", "--stop-seconds", "5", "--workers", "1")
CELERY = ("celery", "-A", "gateway", "--quiet", "--skip-checks")
WORKER = (
    *(*CELERY, "worker", "--loglevel", "WARNING"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)
BEAT = (*CELERY, "beat", "--loglevel", "WARNING")
# (configuration, addresses by setting, descriptor of the listening socket) → the processes to run.
Plan = Callable[[Configuration, dict[str, str], int], list[Command]]


def preparation(configuration: Configuration, addresses: dict[str, str]) -> Command:
    """Sets up roles and schema and, in development, seeds; only it holds the owner's login."""
    return Command("setup", (sys.executable, "-m", "gateway.embedded.preparation"), _environment("command", addresses))


def processes(configuration: Configuration, addresses: dict[str, str], listening: int) -> list[Command]:
    """WEB_CONCURRENCY web processes on one listening socket, a worker and beat.

    None holds the owner's login, and only the worker the ledger's key.
    """
    python = sys.executable, "-m"
    known = {name: value for name, value in addresses.items() if name != OWNER}
    proxies = configuration.trusted_proxies
    forwarded = ("--forwarded-allow-ips", ",".join(proxies)) if proxies else ("--no-proxy-headers",)
    web = (*python, *WEB, "--fd", str(listening), *forwarded)
    worker = (*python, *WORKER, "--concurrency", str(configuration.worker_concurrency))
    beat = (*python, *BEAT, "--schedule", str(configuration.data_dir / "beat-schedule"))
    return [
        *(Command("web", web, _environment("web", known), (listening,)) for _ in range(configuration.web_concurrency)),
        Command("worker", worker, _environment("worker", known)),
        Command("beat", beat, _environment("beat", known), last=True),
    ]


def _environment(process: str, addresses: dict[str, str]) -> dict[str, str]:
    # Libraries' warnings are for their developers, not for operators.
    inherited = {"PYTHONWARNINGS": "ignore"}
    withheld = {OWNER, f"{OWNER}_FILE"} | (set() if process == "worker" else {LEDGER_KEY, f"{LEDGER_KEY}_FILE"})
    inherited |= {name: value for name, value in os.environ.items() if name not in withheld}
    return inherited | addresses | {"TOOLGATE_PROCESS": process, "PYTHONUNBUFFERED": "1"}
