"""The third answer of a check, beside yes and no."""


class Undecidable(Exception):
    """A check cannot be decided in bounded time. It is raised, so that no keyword around it can make a yes or no of it.

    `why` goes on after what cannot be checked: the text `subject`, or the arguments as a whole.
    """

    def __init__(self, why: str, subject: str | None = None):
        super().__init__(why)
        self.why = why
        self.subject = subject
