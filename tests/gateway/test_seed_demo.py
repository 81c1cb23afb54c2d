"""The demo logins, from one start to the next."""

import json
import uuid
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import check_password
from django.core.management import call_command
from django.test import override_settings

from gateway.management.commands import seed_demo
from tenants.models import User
from tenants.scope.routing import on_login


def seed() -> Any:
    """What the command prints."""
    out = StringIO()
    call_command("seed_demo", stdout=out)
    return json.loads(out.getvalue())["tenants"]


@pytest.mark.parametrize("left", [b"", b"\0" * 100, b"[]", b'{"demo": '])
def test_each_start_prints_the_same_logins_and_makes_others_when_their_file_is_damaged(
    left: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug, name = f"demo-{uuid.uuid4().hex[:8]}", f"alice-{uuid.uuid4().hex[:8]}"
    monkeypatch.setattr(seed_demo, "PEOPLE", {slug: {name: "member"}})
    with override_settings(TOOLGATE_DATA_DIR=tmp_path, DEVELOPMENT=True):
        first = seed()
        assert seed() == first
        (tmp_path / "demo-secrets.json").write_bytes(left)
        others = seed()
        assert seed() == others

    assert others[slug][name]["api_key"] != first[slug][name]["api_key"]
    with on_login("operator"):
        stored = User.objects.get(username=name).password
    assert check_password(others[slug][name]["password"], stored)
    assert not check_password(first[slug][name]["password"], stored)
    assert (tmp_path / "demo-secrets.json").stat().st_mode & 0o777 == 0o600
