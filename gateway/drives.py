"""A run in the hands of the process that drives it."""

import asyncio
import time
from dataclasses import dataclass, field, replace

from approvals.rights import Rights
from gateway.providers.interface import ClientTool, Options, PromptMessage
from gateway.view import Row, RunView
from tenants.scoping import Scope
from tools.gates import Caller


class RunLost(Exception):
    """Somebody else drives or ended the run: whatever we know of it is old."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client of a compatible API brings along: tools of its own, and how it wants to be answered."""

    client_tools: tuple[ClientTool, ...] = ()
    options: Options = field(default_factory=Options)

    @property
    def client_names(self) -> frozenset[str]:
        """The names of the client's own tools."""
        return frozenset(tool.name for tool in self.client_tools)

    def options_of(self, turn: int) -> Options:
        """How a turn is to be answered: a call that the client demands is demanded of the first turn only."""
        choice = self.options.tool_choice
        if turn > 1 and choice is not None and choice.kind in ("required", "tool"):
            return replace(self.options, tool_choice=None)
        return self.options


@dataclass(slots=True)
class Drive:
    """A run in our hands: what is shown to the model before this run's own turns, and when its time is over.

    `asked` is what a client of a compatible API wants beside the messages, and `transcript` those as it sent them.
    `streams`: somebody wants the text as it
    comes. `known` are the user's rights as of the last look at them.
    `woken` is set when the run's calls may have changed; `sent`: calls were sent and not looked at since.
    """

    view: RunView
    scope: Scope
    shown: list[PromptMessage]
    deadline: float
    streams: bool
    asked: Asked = field(default_factory=Asked)
    transcript: tuple[PromptMessage, ...] = ()
    known: Rights | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    sent: bool = False

    @property
    def caller(self) -> Caller:
        """Who calls the run's tools."""
        return Caller(*self.scope, agent=self.view.row["profile"].get("slug", ""))

    @property
    def seconds_left(self) -> float:
        """Of the run's time budget."""
        return self.deadline - time.monotonic()


def advance(view: RunView, row: Row | None) -> None:
    """Go on with the run's new row; raises RunLost without one."""
    if row is None:
        raise RunLost
    view.row = row
    view.changed()
