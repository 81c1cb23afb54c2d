"""Each guarantee of THREAT_MODEL.md broken on purpose, and the tests that must notice: `python -m tests.mutations`."""
