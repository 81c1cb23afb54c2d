"""What people are told when they may not use a tool: what refused it, and who can change that.

Settings, grants, agents and members are changed by owners, under /settings/ or over REST.
"""

from dataclasses import dataclass

USE_OTHERS = "Use only tools that are offered to you."
DO_NOT_TRY = "Do not try again."
ASK_ANEW = "It did not run. Call the tool again if it is still needed; a human will be asked anew."


@dataclass(frozen=True, slots=True)
class Words:
    """One cause: `what` refused, `who` can change it (empty: nobody), and in a few words for the `log`."""

    what: str
    who: str
    log: str

    def to_user(self) -> str:
        """Both, for the person."""
        return f"{self.what} {self.who}".strip()

    def to_model(self, advice: str) -> str:
        """What to do, for the model."""
        to_user = f" Tell the user: {self.who}" if self.who else ""
        return f"{self.what} {advice}{to_user}"


def unheard(name: str) -> Words:
    """What refuses a call that a human has to approve, in a run that nobody listens to."""
    return Words(
        f"{name} needs a human's approval, and nobody listens in this run or in any run above it.",
        "Somebody can ask for it in a chat of their own.",
        "no run above it asks humans",
    )


def agent_named(slug: str) -> str:
    """The agent in words."""
    return f"agent {slug}" if slug else "agent"
