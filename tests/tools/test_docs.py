"""The pages about writing a tool are followed as an operator would follow them."""

import re
import tomllib
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.tools.context import context
from tools import builtin, registry
from tools.errors import ToolValidationError
from tools.schemas.schema import InvalidToolDeclaration, check

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = (DOCS / "start" / "first-tool.md").read_text() + (DOCS / "guides" / "write-a-tool.md").read_text()
REFERENCE = (DOCS / "reference" / "tools.md").read_text()


def example(path):
    (code,) = re.findall(rf"<!-- example: {re.escape(path)} -->\n```\w+\n(.*?)```", GUIDES, re.DOTALL)
    return code


@pytest.fixture(autouse=True)
def fresh_registry():
    registry.registry.cache_clear()
    yield
    registry.registry.cache_clear()


async def works(tool):
    assert check(tool.parameters, {"text": "one two"}) is None
    assert check(tool.parameters, {"text": ""}).field == "text"
    result = await tool.execute({"text": "one two"}, context())
    assert (result.output, result.display) == ({"words": 2}, "2 words")
    with pytest.raises(ToolValidationError) as caught:
        await tool.execute({"text": " "}, context())
    assert caught.value.field == "text"


async def test_the_documented_file_is_a_working_tool_once_it_lies_in_the_folder(tmp_path, monkeypatch):
    assert registry.registry().get("count_words") is None
    registry.registry.cache_clear()
    (tmp_path / "count_words.py").write_text(example("tools/builtin/count_words.py"))
    monkeypatch.setattr(builtin, "__path__", [*builtin.__path__, str(tmp_path)])
    await works(registry.registry().get("count_words"))


async def test_the_documented_entry_point_is_a_working_tool_once_it_is_installed(tmp_path, monkeypatch):
    package = tmp_path / "my_tools"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "count_words.py").write_text(example("tools/builtin/count_words.py"))
    entries = tomllib.loads(example("pyproject.toml"))["project"]["entry-points"]["toolgate.tools"]
    metadata = tmp_path / "my_tools-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-tools\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[toolgate.tools]", *lines]))
    monkeypatch.syspath_prepend(str(tmp_path))
    tool = registry.registry().get("count_words")
    assert type(tool).__module__ == "my_tools.count_words"
    await works(tool)


def configure(monkeypatch, lines):
    for line in lines.strip().splitlines():
        name, _, value = line.partition("=")
        monkeypatch.setenv(name, value)


async def test_the_documented_tool_with_settings_works_with_the_documented_lines_of_env(tmp_path, monkeypatch):
    (tmp_path / "lookup_customer.py").write_text(example("tools/builtin/lookup_customer.py"))
    monkeypatch.setattr(builtin, "__path__", [*builtin.__path__, str(tmp_path)])
    with pytest.raises(InvalidToolDeclaration, match="lookup_customer.py.*CRM_URL must be set: where the CRM is"):
        registry.registry()
    configure(monkeypatch, example(".env"))
    tool = registry.registry().get("lookup_customer")
    values = registry.registry().settings("lookup_customer")
    assert dict(values) == {
        "CRM_URL": "https://crm.example.com/api", "CRM_TOKEN": "crm_123456789", "CRM_SECONDS": "10"
    }  # fmt: skip
    assert {"CRM_URL", "CRM_TOKEN"} <= {setting.name for setting in registry.registry().declared_settings()}
    asked = []

    async def answer(request):
        asked.append((request.path_qs, request.headers["Authorization"]))
        return web.json_response({"name": "Ann", "plan": "gold", "secret": "x"})

    app = web.Application()
    app.router.add_get("/api/customers", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    monkeypatch.setenv("CRM_URL", f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/api/")
    registry.registry.cache_clear()
    async with aiohttp.ClientSession() as http:
        found = context(http=http, settings=registry.registry().settings("lookup_customer"))
        result = await tool.execute({"email": "ann@example.com"}, found)
    await runner.cleanup()
    assert (result.output, result.display) == ({"name": "Ann", "plan": "gold"}, "Ann, gold")
    assert asked == [("/api/customers?email=ann@example.com", "Bearer crm_123456789")]
    assert "crm_123456789" not in repr(found)


NOT_DECLARED = {"spec", "binding", "own_feeds", "execute"}


@pytest.mark.parametrize(
    "name", [name for name in vars(registry.Tool) if not name.startswith("_") and name not in NOT_DECLARED]
)
def test_every_attribute_of_the_declaration_is_explained(name):
    assert f"| `{name}` |" in REFERENCE
