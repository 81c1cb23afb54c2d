import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import override_settings

from tenants.people import encryption
from tenants.scope import logins
from tests.test_environment import PRODUCTION, ROOT, read, refusal

HEX = "0123456789abcdef" * 4
BASE64 = base64.urlsafe_b64encode(bytes(range(32))).decode()
WORDS = "whsec_geheim – with more than ASCII"


def keys(*given: str) -> override_settings:
    return override_settings(TOOLGATE_ENCRYPTION_KEYS=list(given))


def test_what_was_encrypted_comes_back_and_shows_nothing() -> None:
    token = encryption.encrypt(WORDS)
    assert encryption.decrypt(token) == WORDS
    assert token.isascii() and "geheim" not in token
    assert encryption.encrypt(WORDS) != token


@pytest.mark.parametrize("key", [HEX, HEX.upper(), BASE64, BASE64.rstrip("=")])
def test_each_form_of_a_key_encrypts(key: str) -> None:
    with keys(key):
        assert encryption.decrypt(encryption.encrypt(WORDS)) == WORDS


def test_a_new_key_in_front_encrypts_and_the_old_one_still_decrypts() -> None:
    with keys(HEX):
        old = encryption.encrypt(WORDS)
    with keys(BASE64, HEX):
        new = encryption.encrypt(WORDS)
        assert encryption.decrypt(old) == encryption.decrypt(new) == WORDS
    with keys(BASE64):
        assert encryption.decrypt(new) == WORDS
        with pytest.raises(encryption.Undecipherable) as caught:
            encryption.decrypt(old)
    assert not any(part in str(caught.value) for part in (HEX, BASE64, old))


@pytest.mark.parametrize("token", ["", "no token", "gAAAAA", "ü"])
def test_what_was_never_encrypted_is_not_decrypted(token: str) -> None:
    with pytest.raises(encryption.Undecipherable):
        encryption.decrypt(token)


@pytest.mark.parametrize("wrong", ["short", HEX + "00", BASE64 + "AAAA", "ü" * 43, HEX[:-1] + "g"])
def test_a_wrong_key_stops_the_start_with_one_line_that_does_not_hold_it(wrong: str) -> None:
    line = refusal(TOOLGATE_ENCRYPTION_KEYS=f"{HEX},{wrong}")
    assert line == (
        "TOOLGATE_ENCRYPTION_KEYS: key 2 is not 32 bytes as 64 hexadecimal digits or as URL-safe base64; "
        "`openssl rand -hex 32` makes one"
    )


def test_keys_may_stand_with_spaces() -> None:
    assert read("TOOLGATE_ENCRYPTION_KEYS", TOOLGATE_ENCRYPTION_KEYS=f" {HEX} , {BASE64},") == [[HEX, BASE64]]


def test_in_development_a_key_is_made_and_kept_with_the_other_secrets() -> None:
    file = Path(settings.TOOLGATE_DATA_DIR) / "generated.json"
    kept = json.loads(file.read_bytes())
    assert [kept["encryption_key"]] == settings.TOOLGATE_ENCRYPTION_KEYS
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_data_directory_of_an_earlier_version_gains_a_key_and_keeps_its_secrets(tmp_path: Path) -> None:
    old = {"system_password": "a", "operator_password": "b", "secret_key": "c"}
    (tmp_path / "generated.json").write_text(json.dumps(old))
    found = logins.generated_secrets(tmp_path)
    assert {name: found[name] for name in old} == old
    encryption.check_keys([found["encryption_key"]])
    assert logins.generated_secrets(tmp_path) == found
    assert [file.name for file in tmp_path.iterdir()] == ["generated.json"]


def test_processes_that_start_at_once_agree_on_the_secrets(tmp_path: Path) -> None:
    imports = "from pathlib import Path; from tenants.scope.logins import *"
    make = f"{imports}; print(generated_secrets(Path({str(tmp_path)!r})))"
    started = [
        subprocess.Popen([sys.executable, "-c", make], cwd=ROOT, env=os.environ, stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


@pytest.mark.parametrize(
    "left", [b"", b"\0" * 300, b'{"secret_key": "c', b"[]", b'{"secret_key": ""}', b'{"secret_key": 1}']
)
def test_secrets_that_are_damaged_stop_the_start_with_one_line_and_are_left_alone(left: bytes, tmp_path: Path) -> None:
    (tmp_path / "generated.json").write_bytes(left)

    for given in ({}, PRODUCTION | {"ALLOWED_HOSTS": "*", "REDIS_URL": settings.REDIS_URL}):
        assert refusal(TOOLGATE_DATA_DIR=str(tmp_path), **given) == (
            f"{tmp_path}/generated.json is damaged: bring it back from a backup. Without one, move it away: Toolgate "
            "makes new keys and passwords, and what the database has encrypted with the old ones is lost"
        )
    up = [sys.executable, "manage.py", "up"]
    done = subprocess.run(
        up, cwd=ROOT, env=os.environ | {"TOOLGATE_DATA_DIR": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"toolgate: {tmp_path}/generated.json is damaged: ")
    assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "generated.json").read_bytes() == left
    assert [file.name for file in tmp_path.iterdir()] == ["generated.json"]
