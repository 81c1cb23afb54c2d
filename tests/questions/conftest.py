from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.questions.asking import Workers


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> "Workers":
    """Workers in this process, which have no tool yet."""
    from tests.questions.asking import Workers

    return Workers(monkeypatch)
