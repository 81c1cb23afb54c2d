"""How many requests per minute a tenant, each of its people and each key may make: what is set, and by whom.

`changes` sets it; who authenticates is given the limits with the answer (`request_limits_of`); `gateway.http` counts.
"""
