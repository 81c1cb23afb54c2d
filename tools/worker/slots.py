"""Slots that tenants share: whoever waits for one gets it in turn, tenant by tenant, and no tenant takes them all."""

from collections import Counter, OrderedDict, deque
from typing import Generic, TypeVar

Job = TypeVar("Job")


class Slots(Generic[Job]):
    """At most `count` jobs have a slot at a time, and the rest wait.

    Free slots go round the tenants that wait, so that one with a thousand jobs delays another's by one job a slot. An
    eighth of them is held back from each tenant, so that one whose jobs take long leaves others some.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.share = count - count // 8
        self._waiting: OrderedDict[str, deque[Job]] = OrderedDict()
        self._taken: Counter[str] = Counter()

    def add(self, tenant: str, job: Job) -> None:
        """Let a job wait behind its tenant's others."""
        self._waiting.setdefault(tenant, deque()).append(job)

    def take(self) -> tuple[str, Job] | None:
        """Whose turn it is, which then has a slot until `release`; None when nobody waits who may have one."""
        if self._taken.total() >= self.count:
            return None
        tenant = next((each for each in self._waiting if self._taken[each] < self.share), None)
        if tenant is None:
            return None
        jobs = self._waiting[tenant]
        job = jobs.popleft()
        if jobs:
            self._waiting.move_to_end(tenant)
        else:
            del self._waiting[tenant]
        self._taken[tenant] += 1
        return tenant, job

    def release(self, tenant: str) -> None:
        """Give a slot of the tenant's back."""
        self._taken[tenant] -= 1
        if not self._taken[tenant]:
            del self._taken[tenant]
