"""The models' providers: adapters that translate, the one place that retries, and the registry of what is configured."""
