"""A Toolgate that has the conformance suite's tools too, as another package would bring them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.stack import Stack

PACKAGE = Path(__file__).parent / "package"


@pytest.fixture(scope="package")
def served() -> "Iterator[Stack]":
    """Web, worker and beat; reached by the names of this machine only.

    A worker that is slow on a busy machine keeps its calls: a test that takes one from it ends its lease.
    """
    from tests.services.api import OUTSIDE
    from tests.stack import Stack

    hosts = {"ALLOWED_HOSTS": "localhost,127.0.0.1", "TOOLGATE_EGRESS_ALLOW": OUTSIDE}
    with Stack(PYTHONPATH=str(PACKAGE), RUN_LEASE_SECONDS="300", **hosts) as stack:
        stack.start("beat")
        yield stack
