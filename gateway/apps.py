"""The gateway app, agents, conversations and runs."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """The gateway app, agents, conversations and runs."""

    name = "gateway"
    verbose_name = "Gateway"

    def ready(self) -> None:
        """Make its words, events and queries known to those who need them, and wake who waits for a call."""
        from gateway.embeddings.queries import QueryMeanings
        from gateway.rest.framework import openapi  # noqa: F401
        from gateway.runs import publisher, repository  # noqa: F401
        from gateway.runs.agents import audience, queries  # noqa: F401
        from gateway.runs.agents.callers_tools import RunTools
        from gateway.runs.lifecycle.beginning import ChildrenOfRuns
        from gateway.runs.watching.wakeups import waits
        from gateway.schedules import store
        from tenants.models import KillSwitch
        from tenants.people import rotation
        from tenants.switches import targets
        from tools.invocation import ports

        rotation.register("model_providers", "api_key")
        targets.register(KillSwitch.Kind.AGENT, queries.named)
        ports.connect(
            watch=lambda call_id: waits().for_run(call_id),
            is_open=repository.is_open,
            tools=RunTools,
            children=ChildrenOfRuns(),
            schedules=store.of_call,
            meanings=QueryMeanings(),
        )
