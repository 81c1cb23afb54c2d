"""What clients report of themselves."""

from tests.rights.action import EVERYBODY, Action

ROWS = [Action("Report calls that one's client has run itself", EVERYBODY, api=("POST /api/v1/telemetry/tool-calls",))]
