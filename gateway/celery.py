"""The Celery application: messages carry ids, PostgreSQL carries the truth.

Messages are acknowledged early and never retried or delayed by Celery; a message that is lost or
delivered twice is made good by the claims in `audit.recorder` and by the sweeper.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

app = Celery("toolgate")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["gateway", "tools"])
