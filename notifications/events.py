"""What can happen: each publisher declares the types of its events once, with the words that people read about them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TYPES: dict[str, "EventType"] = {}


@dataclass(frozen=True, slots=True)
class Words:
    """What people read of an event. As declared, each is a format string over the payload's fields.

    `link` names the link to the payload's `url`. `closing` may be empty.
    """

    headline: str
    text: str
    link: str
    closing: str = ""

    def about(self, payload: Mapping[str, Any]) -> "Words":
        """The words with a payload's values: one line each, `user` by name, times as "2027-01-15 09:30" (UTC)."""
        values = {name: _plain(name, value) for name, value in payload.items()}
        parts = (self.headline, self.text, self.link, self.closing)
        return Words(*(part.format_map(values) for part in parts))


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of events: its public name, and a label for whoever chooses what a target gets.

    `asks_deciders`: unless the tenant says otherwise, an e-mail goes to each member who may decide approvals.
    `answers` names the type that an event of this type settles: members are not asked any more.
    """

    name: str
    label: str
    words: Words
    asks_deciders: bool = False
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to `subject_id`, on behalf of a user of the tenant.

    `payload` is all that channels may send: JSON values, times as `datetime`, `url` as a path. Its `user` gets their
    name when it is delivered.
    """

    type: EventType
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    subject_id: uuid.UUID
    payload: dict[str, Any]


def declare(each: EventType) -> EventType:
    """Make a type of events known, so that targets can choose it. Raises ValueError when the name is taken."""
    if _TYPES.setdefault(each.name, each) != each:
        raise ValueError(f"two types of events are called {each.name}")
    return each


def declared() -> list[EventType]:
    """Every type, by name."""
    return sorted(_TYPES.values(), key=lambda each: each.name)


def words_of(name: str, payload: Mapping[str, Any]) -> Words:
    """What people read of an event; of a type that nobody declares any more, its name."""
    known = _TYPES.get(name)
    return known.words.about(payload) if known else Words(name, name, "Open")


def _plain(name: str, value: Any) -> str:
    if name == "user":
        value = value.get("username") or "Somebody who has left"
    text = str("" if value is None else value)
    if name.endswith("_at"):
        text = text[:16].replace("T", " ")
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
