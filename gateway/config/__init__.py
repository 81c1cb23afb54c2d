"""The Django project itself: settings, addresses, ASGI and Celery. It puts everything together."""
