"""What stops the sealing of the log.

SealingRefused    the log is not continued: an alarm, until somebody has looked
├── WrongSigningKey   the private key is missing, unreadable, or not the one that the log is signed with
└── LogDiffers        database, tiles, heads and the checkpoint file do not belong together
"""


class SealingRefused(Exception):
    """The log is not continued; the message tells the operator why."""


class WrongSigningKey(SealingRefused):
    """The private key is missing, unreadable, or not the one that the log is signed with."""


class LogDiffers(SealingRefused):
    """What is stored is not the log that was signed: it was changed, or an old backup was restored."""
