"""Why there is no backup, or no restore."""


class BackupRefused(Exception):
    """Nothing was made or restored; the message is one line that says why, and what to do."""
