"""What a tool waits for that nobody asks a user about: a run that its call began, or the meaning of some words."""

import uuid


class WaitsForRun(Exception):
    """Raised by `Tool.execute` of a transactional tool: its call began a run, in the call's own transaction.

    The call stays open, no worker has it, and it ends with that run, whose answer is the call's output.
    """

    def __init__(self, run_id: uuid.UUID):
        super().__init__(f"waits for the run {run_id}")
        self.run_id = run_id


class WaitsForMeaning(Exception):
    """Raised by `Tool.execute` of a transactional tool, before it has done anything: it wants the vector of some words.

    That is asked for outside the call's transaction, since no transaction waits for a provider; then the tool is
    executed anew, once more.
    """

    def __init__(self, words: str):
        super().__init__("waits for the meaning of some words")
        self.words = words
