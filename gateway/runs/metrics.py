"""What this process's runs and their calls count for Prometheus; no label names a tenant or user."""

from prometheus_client import Counter, Gauge, Histogram

from gateway.runs.view import RunView
from tools.registry import registry

DRIVEN = Gauge("toolgate_runs_driven", "Runs that this process drives now.")
_RUNS = Counter("toolgate_runs", "Runs that ended, by status.", ["status"])
_CALLS = Counter(
    "toolgate_tool_calls", "Tool calls, by tool and by outcome: success or the error code.", ["tool", "outcome"]
)
_RUN_SECONDS = Histogram(
    "toolgate_run_seconds", "How long runs took.", buckets=(0.05, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120)
)


def ended(view: RunView, seconds: float) -> None:
    """Count a run and its calls; names that models invent share one label."""
    _RUNS.labels(view.run.status).inc()
    _RUN_SECONDS.observe(seconds)
    for turn in view.turns:
        for call in turn.calls:
            # Services' tools are as many as tenants want; without a tier there was no such tool.
            named = registry().get(call.tool_name) is not None
            tool = call.tool_name if named else "service" if call.tier else "unknown"
            _CALLS.labels(tool, call.error_code or call.status).inc()
