"""What beat asks a worker for, and how often: a line a job, which names its Celery task.

A message that nobody has taken until it `expires` is dropped, since the next one asks for the same.
"""

from datetime import timedelta

JOBS = {
    "sweep": {"task": "gateway.sweep", "schedule": timedelta(seconds=3), "options": {"expires": 3}},
    # It may wait a little where the worker is busy: a message too many costs a glance.
    "seal": {"task": "audit.seal", "schedule": timedelta(seconds=2), "options": {"expires": 8}},
    "schedules": {"task": "gateway.fire_schedules", "schedule": timedelta(seconds=5), "options": {"expires": 5}},
    "tidy": {"task": "gateway.tidy", "schedule": timedelta(hours=1)},
    # A share of all services: see services.reading.drift.
    "drift": {"task": "services.check_drift", "schedule": timedelta(minutes=1), "options": {"expires": 60}},
}
# Only where the operator has named a model that makes vectors.
EMBEDDING = {"embed": {"task": "gateway.embed", "schedule": timedelta(seconds=3), "options": {"expires": 3}}}
