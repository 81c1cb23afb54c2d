"""The database logins that Toolgate derives for itself, and the secrets it generates, in the data directory."""

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit


def generated_secrets(data_dir: Path) -> dict[str, str]:
    """The secrets made at the first start; whoever comes first writes the file, all others read it."""
    path = data_dir / "generated.json"
    if not path.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        fresh = {name: secrets.token_urlsafe(32) for name in ("system_password", "operator_password", "secret_key")}
        draft = data_dir / f".generated.{os.getpid()}.json"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(fresh))
        # When another process was first, its secrets hold.
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return dict(json.loads(path.read_bytes()))


def derived_urls(urls: dict[str, str], data_dir: Path) -> dict[str, str]:
    """`urls` with the system and operator logins filled in: the app's URL under names and passwords of our own."""
    parts = urlsplit(urls["default"])
    known = generated_secrets(data_dir)
    address = parts.netloc.rpartition("@")[2]
    filled = dict(urls)
    for alias in ("system", "operator"):
        if not filled.get(alias):
            login = quote(f"{parts.username}_as_{alias}", safe="")
            filled[alias] = urlunsplit(
                parts._replace(netloc=f"{login}:{quote(known[alias + '_password'], safe='')}@{address}")
            )
    return filled
