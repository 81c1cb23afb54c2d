"""Why a notification did not reach its target, as one tree. The words are stored for the operator: they hold no secret.

Undelivered             tried again, with growing pauses
└── GivenUp             trying again is no use
    └── TargetGone      the target wants no more of them

InvalidTarget           a new target's destination is not one of its channel; the words are for whoever typed it
"""


class Undelivered(Exception):
    """The target did not take the notification."""


class GivenUp(Undelivered):
    """It never will."""


class TargetGone(GivenUp):
    """It answered that it is gone: the target is switched off."""


class InvalidTarget(ValueError):
    """The channel cannot deliver to this destination."""
