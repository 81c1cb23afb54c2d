"""Why a notice did not reach its receiver, as one tree. The words are kept, for the operator: they hold no secret.

Undelivered             tried again, with growing pauses
└── GivenUp             trying again is no use
    └── ReceiverGone    the receiver wants no more of them
"""


class Undelivered(Exception):
    """The receiver did not take the notice."""


class GivenUp(Undelivered):
    """It never will."""


class ReceiverGone(GivenUp):
    """It answered that it is gone: the endpoint is switched off."""
