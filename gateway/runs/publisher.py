"""Publishes that a run ended, or waits for humans: a part of the statement that ends or suspends it.

So it happens under the same fence, and costs no statement where no target wants to know.
"""

from notifications.events import EventType, Words, declare


def _type(status: str, label: str, text: str) -> EventType:
    words = Words(headline=f"Run {status.replace('_', ' ')}: {{agent}} for {{user}}", text=text, link="See the run")
    return declare(EventType(f"run.{status}", label, words))


TYPES = {
    "completed": _type("completed", "a run ended with its answer", "{user}'s run of {agent} ({model}) completed."),
    "incomplete": _type(
        "incomplete", "a run ended at one of its limits", "{user}'s run of {agent} ({model}) ended at a limit."
    ),
    "failed": _type("failed", "a run failed", "{user}'s run of {agent} ({model}) failed."),
    "cancelled": _type("cancelled", "a run was cancelled", "{user}'s run of {agent} ({model}) was cancelled."),
    "requires_action": _type(
        "requires_action", "a run begins to wait for humans", "{user}'s run of {agent} ({model}) waits for a human."
    ),
}


# After the run's own update, which is called `run`; and whether notifications were written.
NOTIFY = "notification AS MATERIALIZED (SELECT publish_run(ROW(run.*)::runs) AS written FROM run)"
NOTIFIED = "(SELECT written FROM notification)"
