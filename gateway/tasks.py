"""What beat and the sweeper tell a worker to do with runs."""

import uuid
from contextlib import suppress
from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from gateway.embeddings import rounds
from gateway.operations import health, sealing, sweeper
from gateway.process import gc_tuning
from gateway.providers.routing import clients as routing_clients
from gateway.runs import loop
from gateway.runs.lifecycle import driving, stopping
from gateway.schedules import firing
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope
from tools.invocation.in_worker import handles
from tools.network import clients, redis
from tools.worker import background
from tools.worker.background import Lane

# Less than what the supervisor waits before it kills.
DRAIN_SECONDS = 6


@background.task("gateway.sweep", Lane.UPKEEP)
async def sweep() -> None:
    """Find what lost its worker, driver or message."""
    await sweeper.sweep()


@background.task("audit.seal", Lane.UPKEEP)
async def seal() -> None:
    """Put what was committed into the log, and let its witness know."""
    await sealing.seal()
    background.submit(sealing.tell_witness())


@background.task("gateway.tidy", Lane.UPKEEP)
async def tidy() -> None:
    """Make partitions ahead and drop what has expired."""
    await sweeper.tidy()


@background.task("gateway.fire_schedules", Lane.UPKEEP)
async def fire_schedules() -> None:
    """Begin the runs of schedules that are due."""
    await firing.fire_due()


@background.task("gateway.embed", Lane.UPKEEP)
async def embed() -> None:
    """Embed notes and memories that are due."""
    await rounds.go()


@background.task("gateway.take_over", Lane.RUNS)
async def take_over(tenant_id: str, user_id: str, run_id: str) -> None:
    """Drive a run that nobody holds."""
    await driving.take_over(TenantScope(uuid.UUID(tenant_id), uuid.UUID(user_id)), uuid.UUID(run_id))


@worker_ready.connect
def _ready(**signal: Any) -> None:
    gc_tuning.settle()
    background.submit(health.beat(), forever=True)
    background.submit(sweeper.tidy())
    background.submit(sealing.seal())
    background.submit(rounds.begin())


@worker_shutting_down.connect
def _shutting_down(**signal: Any) -> None:
    background.submit(stopping.release_all())
    background.drain(DRAIN_SECONDS)
    background.submit(_close())
    background.drain(1)


async def _close() -> None:
    """Close the event loop's clients; what fails to close is ending anyway."""
    providers = loop.providers().close, routing_clients.close
    for closing in (handles.close, *providers, clients.close, redis.close, transactions.close_pools):
        with suppress(Exception):
            await closing()
