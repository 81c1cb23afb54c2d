"""The Celery application: messages carry ids, PostgreSQL carries the truth.

Messages are acknowledged early and never retried or delayed by Celery; a message that is lost or
delivered twice is made good by the claims in `audit.calls.recorder` and by the sweeper.
"""

import logging
import os
from typing import Any

import django
from celery import Celery
from celery.app.amqp import AMQP
from celery.signals import beat_init, setup_logging, worker_init
from kombu import Connection

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")


class PatientConnection(Connection):
    """Looks for a lost broker every second, where kombu's own pauses grow to half a minute."""

    def ensure_connection(self, *args: Any, **options: Any) -> Connection:  # type: ignore[override]
        """As kombu's, with pauses of a second."""
        pauses = {"interval_start": 1, "interval_step": 0, "interval_max": 1}
        return super().ensure_connection(*args, **pauses | options)


class Messaging(AMQP):
    """Celery's messaging over such connections."""

    Connection = PatientConnection


@setup_logging.connect  # type: ignore[untyped-decorator]
def log_as_everywhere(loglevel: int | str | None = None, **options: Any) -> None:
    """Keep Celery's own handlers out, which write what they are given as it is."""
    django.setup()
    if loglevel is not None:
        logging.getLogger().setLevel(loglevel)


@worker_init.connect  # type: ignore[untyped-decorator]
@beat_init.connect  # type: ignore[untyped-decorator]
def _require_tools(**signal: Any) -> None:
    """Do not start with a tool that is not usable."""
    django.setup()
    from tools import registry

    registry.require()


app = Celery("toolgate", amqp=Messaging)
app.config_from_object("django.conf:settings", namespace="CELERY")
# Beat sends tasks by name, and needs none of their code.
if os.environ.get("TOOLGATE_PROCESS") != "beat":
    app.autodiscover_tasks(["gateway", "approvals", "notifications", "tools"])
