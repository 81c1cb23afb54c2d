"""The one place that reads the process environment.

A value comes from the environment, else from `.env` beside manage.py, else or when it is empty there from the file
that `NAME_FILE` names, else (addresses and generated secrets) from what a running `make up` wrote into
the data directory. A wrong or missing value raises WrongSetting, whose text is one clear line.
"""

import json
import os
import re
from collections.abc import Callable, Collection
from functools import cache, partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dotenv import dotenv_values

ROOT = Path(__file__).resolve().parent.parent.parent

_asked: set[str] = set()


class WrongSetting(Exception):
    """A setting is missing or makes no sense; the message names it and says what is expected."""


@cache
def _dotenv() -> dict[str, str | None]:
    return dict(dotenv_values(ROOT / ".env"))


@cache
def _services() -> dict[str, str]:
    try:
        return dict(json.loads((data_dir() / "services.json").read_bytes()))
    except (FileNotFoundError, PermissionError, ValueError):
        return {}


def text(name: str, default: str = "") -> str:
    """The setting as text, stripped; `default` when it is set nowhere."""
    _asked.add(name)
    value = os.environ.get(name)
    if value is None:
        value = _dotenv().get(name)
    if not value:
        # Compose passes every name on, empty where nobody set it.
        path = os.environ.get(f"{name}_FILE") or _dotenv().get(f"{name}_FILE")
        if path:
            try:
                value = Path(path).read_text()
            except OSError as error:
                raise WrongSetting(f"{name}_FILE names {path}, which cannot be read: {error.strerror}") from None
    return default if value is None else value.strip()


def later(name: str) -> Callable[[], str]:
    """A reader of the setting as text, for what a process must not hold before it needs it."""
    _asked.add(name)
    return partial(text, name)


def asked() -> frozenset[str]:
    """The names of all settings that this process has asked for."""
    return frozenset(_asked)


def generated(name: str) -> str:
    """The setting, or what a running `make up` generated for it; empty when there is neither."""
    return text(name) or _services().get(name, "")


def integer(name: str, default: int, *, least: int = 0, most: int = 1_000_000) -> int:
    """The setting as a whole number between `least` and `most`."""
    given = text(name)
    if not given:
        return default
    try:
        number = int(given)
    except ValueError:
        raise WrongSetting(f"{name} must be a whole number, not {given!r}") from None
    if not least <= number <= most:
        raise WrongSetting(f"{name} must be between {least} and {most}, not {number}")
    return number


def boolean(name: str, default: bool = False) -> bool:
    """The setting as true or false; `default` when it is set nowhere."""
    given = text(name).lower()
    if not given:
        return default
    if given not in {"0", "1", "false", "true", "no", "yes", "off", "on"}:
        raise WrongSetting(f"{name} must be true or false, not {given!r}")
    return given in {"1", "true", "yes", "on"}


def words(name: str, default: str = "") -> list[str]:
    """The setting as a comma-separated list, empty entries dropped."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def pairs(name: str, values: Collection[str]) -> dict[str, str]:
    """The setting as comma-separated `key=value` pairs, each value being one of `values`."""
    found: dict[str, str] = {}
    for word in words(name):
        key, _, value = word.partition("=")
        if not key or value not in values:
            raise WrongSetting(
                f"{name} must look like name=value, with one of {', '.join(sorted(values))}; not {word!r}"
            )
        found[key] = value
    return found


def hosts_and_networks(name: str) -> tuple[frozenset[str], tuple[IPv4Network | IPv6Network, ...]]:
    """The setting as a comma-separated list of host names, and of addresses and CIDRs."""
    hosts: set[str] = set()
    networks: list[IPv4Network | IPv6Network] = []
    for word in words(name):
        try:
            networks.append(ip_network(word))
        except ValueError:
            if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", word) or word.rpartition(".")[2].isdigit():
                raise WrongSetting(f"{name} must list host names, addresses or CIDRs, not {word!r}") from None
            hosts.add(word.lower())
    return frozenset(hosts), tuple(networks)


def data_dir() -> Path:
    """TOOLGATE_DATA_DIR, relative to the project's root; generated secrets and embedded data live here."""
    return ROOT / text("TOOLGATE_DATA_DIR", "var")


def database(name: str, url: str) -> dict[str, object]:
    """A `postgresql://login:password@host:port/name` URL as Django's settings for one connection."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise WrongSetting(f"{name} must look like postgresql://login:password@host:5432/name")
    options = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or 5432),
        "OPTIONS": {key: unquote(value) for key, value in options.items()},
    }
