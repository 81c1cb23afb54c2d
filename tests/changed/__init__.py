"""Which tests a change concerns: `make test-changed`, and `python -m tests.changed`."""
