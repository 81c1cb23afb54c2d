"""How much CPU time the conditions of one evaluation may take together, in whichever process evaluates."""

import time
from dataclasses import dataclass, field
from typing import Any

from tools.schemas import schema

MOST_SECONDS = 0.25


@dataclass(slots=True)
class Effort:
    """What may still be spent on conditions, in CPU seconds: a stalled process decides as a fast one does."""

    seconds: float = MOST_SECONDS
    # The arguments that were looked at last, and their normal form: one call meets many conditions.
    _given: dict[str, Any] | None = field(default=None, init=False)
    _form: dict[str, Any] | None = field(default=None, init=False)

    def satisfies(self, condition: dict[str, Any], arguments: dict[str, Any]) -> bool | None:
        """As `schema.satisfies`, and None once everything is spent."""
        if self.seconds <= 0:
            return None
        began = time.thread_time()
        if self._given is not arguments:
            self._given, self._form = arguments, schema.normal_form(arguments)
        fits = schema.satisfies_form(condition, self._form)
        self.seconds -= time.thread_time() - began
        return fits
