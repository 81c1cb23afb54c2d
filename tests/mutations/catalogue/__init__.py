"""What is broken, how, and which tests are asked whether they notice: a module for each kind of guarantee."""

from tests.mutations.catalogue import (
    approvals,
    calls,
    isolation,
    locks,
    login,
    mcp,
    outside,
    providers,
    records,
    services,
    sessions,
    settings,
    taint,
)
from tests.mutations.catalogue.mutation import Mutation

__all__ = ["MUTATIONS", "Mutation"]

MUTATIONS = tuple(
    mutation
    for module in (
        isolation,
        login,
        locks,
        calls,
        settings,
        sessions,
        taint,
        approvals,
        records,
        outside,
        services,
        mcp,
        providers,
    )
    for mutation in module.MUTATIONS
)
