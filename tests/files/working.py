"""A conversation, and the tools of files at work in it, each in a transaction of its own, as a worker runs them."""

import uuid
from dataclasses import dataclass
from typing import Any

from gateway.models import Conversation
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope, transaction
from tests.people import Person
from tests.tools.context import context
from tools.files import FileStore
from tools.interface import Tool, ToolResult
from tools.registry import registry


def conversation_of(who: Person) -> uuid.UUID:
    """A new conversation of the person's."""
    with transactions.scope(who.principal.tenant_id, who.principal.user_id):
        made = Conversation(title="Files")
        made.tenant_id, made.user_id = who.principal.tenant_id, who.principal.user_id
        made.save(force_insert=True)
    return made.id


@dataclass(frozen=True)
class Workspace:
    """A person's conversation."""

    who: Person
    conversation_id: uuid.UUID

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        """A tool's result. Raises ToolError, and then nothing has happened."""
        tool = registry().get(name)
        assert isinstance(tool, Tool)
        principal, call_id = self.who.principal, uuid.uuid4()
        async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
            files = FileStore(connection, principal.tenant_id, principal.user_id, self.conversation_id, call_id)
            return await tool.execute(arguments, context(files=files, call_id=call_id))

    async def write(self, path: str, content: str) -> int:
        """Write a file; its version."""
        return int((await self.call("write_file", path=path, content=content)).output["version"])

    async def read(self, path: str) -> str:
        """All of a file's text."""
        return str((await self.call("read_file", path=path, lines=5000)).output["content"])

    async def paths(self, folder: str = "") -> list[str]:
        """The paths that are listed."""
        return [file["path"] for file in (await self.call("list_files", path=folder)).output["files"]]
