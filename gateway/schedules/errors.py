"""What is wrong with what somebody asks of schedules.

Refused                     the answer's HTTP status, code and words
├── InvalidSchedule         400 invalid_schedule
├── NoSuchSchedule          404 not_found
├── NotYourSchedule         403 forbidden
├── TooManySchedules        409 too_many_schedules
└── RunsInSchedule          409 run_of_a_schedule
"""

from tenants.errors import Refused


class InvalidSchedule(Refused):
    """What was sent makes no schedule; `field` names what is at fault."""

    code = "invalid_schedule"


class NoSuchSchedule(Refused):
    """There is no such schedule of the caller's."""

    status = 404
    code = "not_found"

    def __init__(self, schedule_id: object):
        super().__init__(f"There is no schedule {schedule_id} of yours.", "schedule_id")


class NotYourSchedule(Refused):
    """The schedule is another member's."""

    status = 403
    code = "forbidden"

    def __init__(self, username: str):
        super().__init__(
            f"The schedule is {username}'s: only {username} can change or run it. "
            "An owner of your tenant can pause and delete it."
        )


class TooManySchedules(Refused):
    """The person has as many schedules as one may have."""

    status = 409
    code = "too_many_schedules"

    def __init__(self, most: int):
        super().__init__(f"You have {most} schedules, and cannot have more. Delete one that you do not need.")


class RunsInSchedule(Refused):
    """A run that a schedule began does not begin other runs by itself."""

    status = 409
    code = "run_of_a_schedule"

    def __init__(self) -> None:
        super().__init__(
            "This chat was begun by a schedule, and cannot begin another run. "
            "Whose schedule it is can, under Settings, Schedules."
        )
