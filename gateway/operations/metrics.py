"""What Prometheus reads at `/metrics`: this web process's runs and their calls; no label names a tenant or user.

The log's figures are the database's, the same in every process.
"""

import asyncio
import math

import psycopg
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from psycopg_pool import PoolTimeout

from audit.log import sealing as log
from gateway.operations import sealing
from tenants.limits.streams import STREAMS

_UNSEALED = Gauge("toolgate_ledger_unsealed_entries", "Ledger entries that are not in the log yet, up to 100,000.")
_UNSEALED_AGE = Gauge("toolgate_ledger_unsealed_age_seconds", "Age of the oldest of them; 0 when there is none.")
_LOG_SIZE = Gauge("toolgate_ledger_log_size", "Entries in the log, as its last checkpoint says.")
_OPEN_STREAMS = Gauge("toolgate_open_streams", "Answers and sockets of this process that stay open.")
_OPEN_STREAMS.set_function(STREAMS.count)
_REFUSED = Gauge("toolgate_ledger_sealing_refused", "1 when sealing is refused: see the worker's log.")

_SECONDS = 2


async def metrics(request: HttpRequest) -> HttpResponse:
    """The figures in Prometheus's text format."""
    await _measure_ledger()
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


async def _measure_ledger() -> None:
    """What cannot be measured now is not a number, rather than what it was."""
    try:
        async with asyncio.timeout(_SECONDS):
            found = await log.backlog()
    except (psycopg.Error, PoolTimeout, TimeoutError):
        found = dict.fromkeys(("unsealed", "age", "size"), math.nan)
    _UNSEALED.set(found["unsealed"])
    _UNSEALED_AGE.set(found["age"])
    _LOG_SIZE.set(found["size"])
    refused = await sealing.refused()
    _REFUSED.set(math.nan if refused is None else refused)
