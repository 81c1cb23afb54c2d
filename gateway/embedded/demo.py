"""What `make up` reports once everything runs: demo.json for programs, text for people."""

from collections.abc import Iterable, Mapping
from typing import Any

# tenant → username → {"password", "api_key"}
Tenants = Mapping[str, Mapping[str, Mapping[str, str]]]
PROCESSES = ("web", "worker", "beat", "postgres", "redis")


def document(
    *, url: str, tenants: Tenants, addresses: Mapping[str, str], pids: Iterable[tuple[str, int]]
) -> dict[str, Any]:
    """The contents of demo.json; `pids` are (process name, process id) of all that runs now."""
    running = list(pids)
    return {
        "url": url,
        "tenants": tenants,
        "database_url": addresses["DATABASE_URL"],
        "database_owner_url": addresses["DATABASE_OWNER_URL"],
        "redis_url": addresses["REDIS_URL"],
        "pids": {name: [pid for of, pid in running if of == name] for name in PROCESSES},
    }


def introduction(url: str, tenants: Tenants, file: str) -> list[str]:
    """The demo logins and alice's API key, a line each."""
    lines = ["", f"Demo logins for {url}/accounts/login/"]
    for tenant, people in tenants.items():
        lines += [f"  {tenant:<8} {name:<8} {person['password']}" for name, person in people.items()]
    key = tenants.get("demo", {}).get("alice", {}).get("api_key")
    if key:
        lines.append(f"API key of alice: {key}")
    return [*lines, f"All of this is in {file}.", ""]
