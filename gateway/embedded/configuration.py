"""What `manage.py up` runs with, read from the environment before there are any settings."""

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path

from gateway.process import environment as env
from gateway.process.environment import WrongSetting
from gateway.server import sockets
from tenants.scope.logins import LostSecrets, check_secrets, derived_urls, generated_secrets


@dataclass(frozen=True)
class Configuration:
    """`given`: the addresses of the operator's own services; the missing ones are embedded."""

    root: Path
    data_dir: Path
    host: str
    port: int
    web_concurrency: int
    worker_concurrency: int
    production: bool
    allowed_hosts: list[str]
    trusted_proxies: list[str]
    given: dict[str, str] = field(repr=False)

    @property
    def embeds_postgres(self) -> bool:
        """Whether PostgreSQL is embedded."""
        return "DATABASE_URL" not in self.given

    @property
    def host_header(self) -> str:
        """A Host header that Toolgate accepts from its own requests."""
        named = [host.lstrip(".") for host in self.allowed_hosts if host != "*"]
        return named[0] if named else "localhost"

    @property
    def embeds_valkey(self) -> bool:
        """Whether Valkey is embedded."""
        return "REDIS_URL" not in self.given

    def addresses(self, services: dict[str, str]) -> dict[str, str]:
        """Every address and secret that Toolgate's processes need, by setting; `services` are the embedded ones'."""
        found = services | self.given
        urls = {"default": found["DATABASE_URL"]}
        urls |= {
            alias: found[name]
            for alias, name in (("system", "DATABASE_SYSTEM_URL"), ("operator", "DATABASE_OPERATOR_URL"))
            if name in found
        }
        filled = derived_urls(urls, self.data_dir)
        return found | {
            "DATABASE_SYSTEM_URL": filled["system"],
            "DATABASE_OPERATOR_URL": filled["operator"],
            "SECRET_KEY": found.get("SECRET_KEY") or generated_secrets(self.data_dir)["secret_key"],
        }

    def listen(self) -> socket.socket:
        """The listening socket of the web process; WrongSetting when HOST and PORT are not available."""
        try:
            return sockets.listen(self.host, self.port)
        except socket.gaierror:
            raise WrongSetting(f"HOST must be a name or address of this machine, not {self.host!r}") from None
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise WrongSetting(
                f"cannot listen on {self.host} port {self.port} ({reason}); stop what holds it, or set HOST and PORT"
            ) from None


def read() -> Configuration:
    """The configuration of this environment; WrongSetting when it cannot work."""
    mode = env.text("TOOLGATE_ENV", "development")
    if mode not in {"development", "production"}:
        raise WrongSetting(f"TOOLGATE_ENV must be development or production, not {mode!r}")
    names = (
        "DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SYSTEM_URL", "DATABASE_OPERATOR_URL", "REDIS_URL", "SECRET_KEY",
    )  # fmt: skip
    given = {name: value for name in names if (value := env.text(name))}
    if "DATABASE_URL" in given and "DATABASE_OWNER_URL" not in given:
        raise WrongSetting("DATABASE_OWNER_URL is not set: DATABASE_URL is, and setting up needs the owner's login too")
    if "DATABASE_URL" not in given:
        for name in ("DATABASE_OWNER_URL", "DATABASE_SYSTEM_URL", "DATABASE_OPERATOR_URL"):
            if name in given:
                raise WrongSetting(f"{name} is set and DATABASE_URL is not: set both, or neither for the embedded one")
    if mode == "production":
        for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
            if name not in given:
                raise WrongSetting(f"{name} must be set when TOOLGATE_ENV is production")
    try:
        check_secrets(env.data_dir())
    except LostSecrets as lost:
        raise WrongSetting(str(lost)) from None
    return Configuration(
        root=env.ROOT,
        data_dir=env.data_dir(),
        host=env.text("HOST", "127.0.0.1"),
        port=env.integer("PORT", 8000, most=65535),
        web_concurrency=env.integer("WEB_CONCURRENCY", 1, least=1, most=64),
        worker_concurrency=env.integer("WORKER_CONCURRENCY", 8, least=1, most=256),
        production=mode == "production",
        allowed_hosts=env.words("ALLOWED_HOSTS"),
        trusted_proxies=env.words("TRUSTED_PROXIES"),
        given=given,
    )
