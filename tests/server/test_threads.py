"""A request to Django changes threads once for all its middleware, not once or twice for each."""

from typing import Any

import pytest
from asgiref.sync import SyncToAsync

from tests.fuzz import caller


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/accounts/login/", 200), ("/nowhere", 404)])
async def test_a_request_changes_threads_for_its_middleware_and_for_its_view(
    monkeypatch: pytest.MonkeyPatch, path: str, status: int
) -> None:
    usual, changes = SyncToAsync.__call__, []

    async def counted(self: SyncToAsync[..., Any], *args: Any, **kwargs: Any) -> Any:
        changes.append(self.func)
        return await usual(self, *args, **kwargs)

    monkeypatch.setattr(SyncToAsync, "__call__", counted)
    answer = await caller.ask("GET", path, {})
    assert answer.status == status
    assert len(changes) <= 6, changes
