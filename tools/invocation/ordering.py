"""In which order a turn's calls run: side by side where their tools are parallel_safe, else one after the other.

A call that waits for a human keeps nobody waiting: it is left out until it is decided.
"""

import uuid
from collections.abc import Iterable

from tools.gates.policy import Policy
from tools.invocation import lookup
from tools.registry import registry


def next_batch(calls: Iterable[tuple[uuid.UUID, str, bool]], policy: Policy | None = None) -> list[uuid.UUID]:
    """The ids that may run now, out of a turn's calls in order, each as (id, tool name, whether it is final or held).

    The first call that is neither runs; when it is parallel_safe, so do those that follow it, up to the next one
    that is not. Without a `policy` a tool of a service is taken for one that is not.
    """
    batch: list[uuid.UUID] = []
    for call_id, name, passed_over in calls:
        if passed_over:
            continue
        tool = lookup.known(policy, name) if policy is not None else registry().get(name)
        alone = tool is None or not tool.parallel_safe
        if alone and batch:
            break
        batch.append(call_id)
        if alone:
            break
    return batch
