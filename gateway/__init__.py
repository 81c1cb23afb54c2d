"""The gateway: chat, runs and the model loop, and the Django project around them."""

from gateway.config.celery import app as celery_app

__all__ = ["celery_app"]
