"""The same request is the same call: idempotency keys, and calls whose client could not wait for them."""
