"""Web search engines: the one that the operator configured, or the bundled demo set."""
