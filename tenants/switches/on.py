"""A switch that is on, what it stops, and how people are told so."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from tenants.models import KillSwitch

Kind = KillSwitch.Kind
# Where owners put switches on and off.
PAGE = "/settings/safety/"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is about to be done: by whom, for which agent (its slug), with which model ("provider/model"), with which
    tool. What is empty has none."""

    user_id: uuid.UUID | None
    agent: str = ""
    model: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """One that was on when it was read; `set_by` is a username, "" for the operator and for who is gone."""

    id: uuid.UUID
    kind: str
    target: str
    reason: str
    since: datetime
    until: datetime | None
    by_operator: bool
    set_by: str

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Switch":
        """Out of what the SQL functions `switches_on` and `killed` answer."""
        until = values["until"]
        return cls(
            id=uuid.UUID(values["id"]),
            kind=values["kind"],
            target=values["target"],
            reason=values["reason"],
            since=datetime.fromisoformat(values["since"]),
            until=None if until is None else datetime.fromisoformat(until),
            by_operator=values["by_operator"],
            set_by=values["set_by"],
        )

    def is_on(self, now: datetime) -> bool:
        """Whether it has not ended by itself."""
        return self.until is None or now < self.until

    def stops(self, subject: Subject) -> bool:
        """Whether it is about this; the SQL function `killed` says the same."""
        match self.kind:
            case Kind.EVERYTHING | Kind.TENANT:
                return True
            case Kind.USER:
                return self.target == str(subject.user_id)
            case Kind.TOOL:
                return self.target == subject.tool
            case Kind.SERVICE:
                return subject.tool.startswith(f"{self.target}.")
            case Kind.AGENT:
                return self.target == subject.agent
            case Kind.MODEL:
                every = self.target.removesuffix("*") if self.target.endswith("/*") else None
                return subject.model.startswith(every) if every else self.target == subject.model
        # A kind of a later release: what cannot be decided stops.
        return True

    @property
    def stopped(self) -> str:
        """What it stops, as the beginning of a sentence."""
        named: dict[str, str] = {
            Kind.EVERYTHING: "Everything on this Toolgate",
            Kind.TENANT: "All that this tenant does",
            Kind.USER: "All that this person does",
            Kind.TOOL: f"The tool {self.target}",
            Kind.SERVICE: f"The service {self.target}",
            Kind.AGENT: f"The agent {self.target}",
            Kind.MODEL: f"The model {self.target}",
        }
        return named.get(self.kind, "This")

    @property
    def who(self) -> str:
        """Who put it on; of the operator's people no name is told."""
        return "the operator" if self.by_operator else self.set_by or "an owner of the tenant"

    @property
    def what(self) -> str:
        """What was stopped, by whom, why and until when, in sentences."""
        until = "until somebody ends that" if self.until is None else f"until {_moment(self.until)}"
        why = f" Reason: {self.reason.rstrip('.')}." if self.reason else ""
        return f"{self.stopped} was stopped by {self.who} at {_moment(self.since)}, {until}.{why}"

    @property
    def remedy(self) -> str:
        """Who can end it, and where."""
        if self.by_operator:
            return "Only the operator of this Toolgate can end that."
        return f"An owner of the tenant can end that ({settings.PUBLIC_URL}{PAGE})."


def killed(switches: Iterable[Switch], subject: Subject, now: datetime | None = None) -> Switch | None:
    """The switch that stops this, the operator's and the longest first; None when none does."""
    moment = now or datetime.now(UTC)
    found = [each for each in switches if each.is_on(moment) and each.stops(subject)]
    return max(found, key=_weight) if found else None


def _weight(switch: Switch) -> tuple[bool, bool, float]:
    until = switch.until
    return switch.by_operator, until is None, 0.0 if until is None else until.timestamp()


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
