"""What a channel is: how a target of it is given, and how a message reaches one."""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from notifications.events import Words
from notifications.media import File


@dataclass(frozen=True, slots=True)
class Message:
    """One event for one target; the same at each attempt.

    `payload` is for programs, `words` for people. `destination` is the target's, or a member's e-mail address where the
    target stands for members. `secret` is decrypted. `files` go along where the channel carries files.
    """

    id: uuid.UUID
    event: str
    created_at: datetime
    payload: dict[str, Any]
    words: Words
    destination: str
    secret: str
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Accepted:
    """A new target as it is stored: `destination` may be shown, `secret` is encrypted.

    `shown_once`: the secret was made here, and whoever made the target is shown it, once.
    """

    destination: str
    secret: str = ""
    shown_once: bool = False


@dataclass(frozen=True, slots=True)
class Channel:
    """A way to deliver; `slug` is stored with each target, so it never changes.

    `accept` reads what was typed as a target's destination, and raises InvalidTarget; `help` says what to type, and
    `typed_is_secret` that it is never shown again. `deliver` raises Undelivered, GivenUp or TargetGone.
    """

    slug: str
    label: str
    help: str
    accept: Callable[[str], Accepted]
    deliver: Callable[[Message], Awaitable[None]]
    typed_is_secret: bool = False
