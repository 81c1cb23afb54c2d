"""What every test of sealing begins with. Pytest reads this file before Django is set up, so imports are within."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.people import Cast


@pytest.fixture(autouse=True)
def _own_log(tmp_path: Path) -> Iterator[None]:
    from tests.audit import logs

    with logs.own_log(tmp_path):
        yield


@pytest.fixture
def people(_own_log: None) -> Cast:
    """A tenant in the log's own database."""
    from tests.people import make_tenant

    return make_tenant()
