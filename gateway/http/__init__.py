"""HTTP as every API of Toolgate has it: who asks, the body within its bounds, and exceptions as answers.

`asgi` serves bare ASGI callables, which the chat and /v1 are for the sake of their latency; `drf` gives the same rules
to Django REST framework's views. It imports `gateway.runs.errors` and the lower packages, and knows no resource.
"""
