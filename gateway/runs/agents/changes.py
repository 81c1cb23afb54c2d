"""What owners do with agents: pages, REST, the admin and commands call the same functions.

Each is one transaction, on the login that the ORM uses at that moment, and one new version of the agent.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connections, router, transaction
from django.utils import timezone

from gateway.models import Agent
from gateway.runs.agents import fields, shown, versions
from gateway.runs.agents.versions import AGENT
from gateway.runs.errors import AgentChanged, AgentSlugTaken, DefaultAgent, InvalidAgent, NoSuchAgent, NoSuchVersion

MAX_AGENTS = 500


def found(tenant_id: uuid.UUID, slug: str) -> Agent:
    """The tenant's agent, archived or not; raises NoSuchAgent."""
    agent = Agent.objects.filter(tenant_id=tenant_id, slug=slug).first() if "\x00" not in slug else None
    if agent is None:
        raise NoSuchAgent(slug)
    return agent


def add(tenant_id: uuid.UUID, given: Mapping[str, Any]) -> Agent:
    """A new agent; raises InvalidAgent and AgentSlugTaken. Without `tools` it may use the tenant's default ones."""
    slug = fields.slug(given.get("slug"))
    said = {"name": slug, "tools": ["..."]} | {name: value for name, value in given.items() if name != "slug"}
    with _one_at_a_time(tenant_id):
        said = fields.read(tenant_id, said)
        taken = Agent.objects.filter(tenant_id=tenant_id, slug=slug).first()
        if taken is not None:
            raise AgentSlugTaken(slug, taken.archived)
        if Agent.objects.filter(tenant_id=tenant_id).count() >= MAX_AGENTS:
            raise InvalidAgent(f"A tenant can have {MAX_AGENTS:,} agents, and has them.")
        if said.get("is_default"):
            _no_default_but(tenant_id, None)
        agent = Agent.objects.create(tenant_id=tenant_id, slug=slug, **said)
        versions.put_on_record(agent, None)
    return agent


def change(
    tenant_id: uuid.UUID,
    slug: str,
    given: Mapping[str, Any],
    version: int | None = None,
    *,
    archived: bool | None = None,
) -> Agent:
    """Change an agent; what it says already makes no new version.

    Nothing begins with an `archived` one any more, while runs that have begun go on, and its slug stays taken. With a
    `version`, only if it still has that one. Raises InvalidAgent, NoSuchAgent, AgentChanged, DefaultAgent.
    """
    with _one_at_a_time(tenant_id):
        agent = _held_to(found(tenant_id, slug), version)
        said = fields.read(tenant_id, given, agent)
        if archived is not None and archived != agent.archived:
            said["archived_at"] = timezone.now() if archived else None
        return _saved(agent, said)


def restore(tenant_id: uuid.UUID, slug: str, number: int, version: int | None = None) -> Agent:
    """Make an agent what it was in an earlier version, as a new version; it stays the default one or none.

    Raises NoSuchAgent, NoSuchVersion, AgentChanged.
    """
    with _one_at_a_time(tenant_id):
        agent = _held_to(found(tenant_id, slug), version)
        earlier = versions.found(agent.pk, number)
        if earlier is None:
            raise NoSuchVersion(slug, number)
        said = versions.fields_of(earlier) | {"is_default": agent.is_default}
        return _saved(agent, said, restored=number)


def _held_to(agent: Agent, version: int | None) -> Agent:
    if version is not None and version != agent.version:
        raise AgentChanged(agent.version, shown.agent(agent))
    return agent


def _saved(agent: Agent, said: Mapping[str, Any], restored: int | None = None) -> Agent:
    """The agent with what is said of it, under its next version; as it was when that is nothing new."""
    if all(getattr(agent, name) == value for name, value in said.items()):
        return agent
    was_default, before = agent.is_default, AGENT.of(agent)
    for name, value in said.items():
        setattr(agent, name, value)
    if was_default and not agent.is_default:
        raise DefaultAgent
    if agent.is_default and agent.archived:
        if was_default:
            raise DefaultAgent
        raise InvalidAgent("An archived agent cannot be the default one. Take it back as well.", "is_default")
    if not was_default and agent.is_default:
        _no_default_but(agent.tenant_id, agent)
    agent.version += 1
    agent.save(update_fields=[*said, "version"])
    versions.put_on_record(agent, before, restored)
    return agent


def _no_default_but(tenant_id: uuid.UUID, agent: Agent | None) -> None:
    """What was the default one is none any more, which is a version of it, too."""
    for other in Agent.objects.filter(tenant_id=tenant_id, is_default=True):
        if agent is None or other.pk != agent.pk:
            before = AGENT.of(other)
            other.is_default, other.version = False, other.version + 1
            other.save(update_fields=["is_default", "version"])
            versions.put_on_record(other, before)


@contextmanager
def _one_at_a_time(tenant_id: uuid.UUID) -> Iterator[None]:
    """A transaction in which nobody else changes agents of the tenant: one of them is the default one, whatever
    happens."""
    alias = router.db_for_write(Agent)
    with transaction.atomic(using=alias):
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"agents {tenant_id}"])
        yield
