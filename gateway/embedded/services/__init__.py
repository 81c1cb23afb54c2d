"""The PostgreSQL and Valkey of `make up` and of the tests: their programs as children on loopback ports."""
