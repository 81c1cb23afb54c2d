"""What a worker process is: Celery's pool, which hands coroutines to one event loop, in slots that tenants share.

`background.task` makes a coroutine function a Celery task of a lane. Allowed imports:
`tools.invocation.live.leases`, and no other part of `tools`; tasks of every package import it.
"""
