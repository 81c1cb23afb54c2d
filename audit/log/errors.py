"""What stops the sealing of the log.

SealingRefused    the log is not gone on with: an alarm, until somebody has looked
├── WrongSigningKey   the private key is missing, unreadable, or not the one that the log is signed with
└── LogDiffers        database, tiles, heads and the checkpoint file do not belong together
"""


class SealingRefused(Exception):
    """The log is not gone on with; the message says why, in words for the operator."""


class WrongSigningKey(SealingRefused):
    """The private key is missing, unreadable, or not the one that the log is signed with."""


class LogDiffers(SealingRefused):
    """What is stored is not the log that was signed: it was changed, or an old backup was restored."""
