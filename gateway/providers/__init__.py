"""The models' providers: adapters that translate, the one place that retries, and what is configured.

`interface` is what the loop sends and gets, `registry` the adapters of the environment's providers, `routing` those
that tenants name. An adapter is a folder: it translates with `translation` and speaks HTTP with `transport`.
"""
