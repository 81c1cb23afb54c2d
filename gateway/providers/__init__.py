"""The models' providers: adapters that translate, the one place that retries, and what is configured."""
