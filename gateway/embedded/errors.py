"""Why the embedded services cannot run.

EmbeddedError
├── DataDirectoryInUse   another supervisor holds the data directory
└── ServiceFailed        PostgreSQL or Valkey does not start here
"""


class EmbeddedError(Exception):
    """The message is one clear line that says what is wrong and what to do."""


class DataDirectoryInUse(EmbeddedError):
    """Another process runs its services in this data directory."""


class ServiceFailed(EmbeddedError):
    """A service did not become ready."""
