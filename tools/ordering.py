"""In which order a turn's calls run: side by side where their tools are parallel_safe, else one after the other."""

import uuid
from collections.abc import Iterable

from tools.registry import registry


def next_batch(calls: Iterable[tuple[uuid.UUID, str, bool]]) -> list[uuid.UUID]:
    """The ids that may run now, out of a turn's calls in order, each as (id, tool name, whether it is final).

    The first call that is not final runs; when it is parallel_safe, so do those that follow it, up to the next one
    that is not.
    """
    batch: list[uuid.UUID] = []
    for call_id, name, final in calls:
        if final:
            continue
        tool = registry().get(name)
        alone = tool is None or not tool.parallel_safe
        if alone and batch:
            break
        batch.append(call_id)
        if alone:
            break
    return batch
