"""What AgentDojo's tools read and where they reach, as the catalogue of services labels what it knows.

What reads a service reads the account of somebody, in which strangers write, too; what changes something there reaches
outside. That is `READS` and `CHANGES` of `services.descriptors.entry`. A web page is as a tool that fetches has it. An
event in the user's own calendar reaches nobody unless it has participants.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tools.interface import Tier, Tool
from tools.labels import Label

READS = frozenset({Label.READS_PRIVATE, Label.READS_UNTRUSTED})
CHANGES = frozenset({Label.READS_PRIVATE, Label.LEAVES_TENANT})
FETCHES = frozenset({Label.READS_UNTRUSTED, Label.LEAVES_TENANT})
# What changes something, with the arguments that say where it goes.
DESTINATIONS: dict[str, tuple[str, ...]] = {
    "send_email": ("recipients", "cc", "bcc"),
    "delete_email": ("email_id",),
    "create_calendar_event": ("participants",),
    "cancel_calendar_event": ("event_id",),
    "reschedule_calendar_event": ("event_id",),
    "add_calendar_event_participants": ("participants",),
    "append_to_file": ("file_id",),
    "create_file": ("filename",),
    "delete_file": ("file_id",),
    "share_file": ("email",),
    "reserve_hotel": ("hotel",),
    "reserve_car_rental": ("company",),
    "reserve_restaurant": ("restaurant",),
    "send_money": ("recipient",),
    "schedule_transaction": ("recipient",),
    "update_scheduled_transaction": ("recipient",),
    "update_password": (),
    "update_user_info": (),
    "add_user_to_channel": ("user", "channel"),
    "send_direct_message": ("recipient",),
    "send_channel_message": ("channel",),
    "invite_user_to_slack": ("user_email",),
    "remove_user_from_slack": ("user",),
    "post_webpage": ("url",),
    "get_webpage": ("url",),
}
NOTHING = frozenset({"get_current_day"})
SERVICE = "dojo"


class _Calendar(Tool):
    def labels_of(self, arguments: Mapping[str, Any]) -> frozenset[Label]:
        return self.labels if arguments.get("participants") else self.labels - {Label.LEAVES_TENANT}


def named(called: str) -> str:
    """What a tool of AgentDojo's is called in the tenant; some have names of built-in tools."""
    return f"{SERVICE}.{called}"


def tools(called: Iterable[str]) -> dict[str, Tool]:
    """AgentDojo's tools of these names as those of a service of the tenant's, none of them Elevated."""
    return {named(each): _tool(each) for each in called}


def _tool(called: str) -> Tool:
    made = _Calendar() if called == "create_calendar_event" else Tool()
    labels = CHANGES if called in DESTINATIONS else READS
    labels = FETCHES if called == "get_webpage" else frozenset() if called in NOTHING else labels
    more = {"name": named(called), "description": called, "parameters": {"type": "object"}, "tier": Tier.WORKSPACE}
    vars(made).update(more, labels=labels, destinations=DESTINATIONS.get(called, ()))
    return made
