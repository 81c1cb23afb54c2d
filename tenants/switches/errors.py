"""Why something that has to do with kill switches is refused.

Refused                     the answer's HTTP status, code and words
├── Killed                  403 killed
├── InvalidSwitch           400 invalid_request
├── NoSuchSwitch            404 not_found
└── OperatorsSwitch         403 forbidden
"""

from tenants.errors import Refused
from tenants.switches.on import Switch


class Killed(Refused):
    """A kill switch that is on stops this."""

    status = 403
    code = "killed"

    def __init__(self, switch: Switch):
        super().__init__(f"{switch.what} {switch.remedy}")
        self.more = {"until": None if switch.until is None else switch.until.isoformat()}


class InvalidSwitch(Refused):
    """It cannot be put on as it is asked for; `field` names what is at fault."""


class NoSuchSwitch(Refused):
    """There is no such switch of the tenant's."""

    status = 404
    code = "not_found"

    def __init__(self, switch_id: object):
        super().__init__(f"There is no kill switch {switch_id}.")


class OperatorsSwitch(Refused):
    """An owner cannot end what the operator has stopped."""

    status = 403
    code = "forbidden"

    def __init__(self) -> None:
        super().__init__("The operator of this Toolgate put this switch on, and only the operator can end it.")
