"""The Celery application: messages carry ids, PostgreSQL carries the truth.

Messages are acknowledged early and never retried or delayed by Celery; a message that is lost or
delivered twice is made good by the claims in `audit.calls.begun` and by the sweeper.
"""

import logging
import os
import sys
from typing import Any

import django
from celery import Celery
from celery.signals import beat_init, setup_logging, worker_init

from tools.worker.broker import Messaging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")


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
    _require_broker()


def _require_broker() -> None:
    """Do not start with another broker than the one that calls are sent to."""
    from django.conf import settings

    given = {
        "CELERY_BROKER_URL": app.conf.broker_url,
        "CELERY_BROKER_READ_URL": app.conf.broker_read_url,
        "CELERY_BROKER_WRITE_URL": app.conf.broker_write_url,
    }
    elsewhere = [name for name, url in given.items() if url != settings.REDIS_URL]
    if elsewhere:
        words = f"calls are sent to REDIS_URL and nowhere else; remove {elsewhere[0]} from the environment"
        # The real one: beat has put its log in the place of standard error by now.
        print(f"toolgate: {words}", file=sys.__stderr__, flush=True)
        sys.exit(1)


app = Celery("toolgate", amqp=Messaging)
app.config_from_object("django.conf:settings", namespace="CELERY")
# Beat sends tasks by name, and needs none of their code.
if os.environ.get("TOOLGATE_PROCESS") != "beat":
    app.autodiscover_tasks(["gateway", "approvals", "notifications", "services", "tools"])
