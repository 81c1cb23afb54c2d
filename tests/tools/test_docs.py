"""docs/tools.md is run as an operator would follow it."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.tools.context import context
from tools import builtin, registry
from tools.errors import ToolValidationError
from tools.schema import check

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()


def example(path):
    (code,) = re.findall(rf"<!-- example: {re.escape(path)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
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


@pytest.mark.parametrize(
    "name", [name for name in vars(registry.Tool) if not name.startswith("_") and name not in {"spec", "execute"}]
)
def test_every_attribute_of_the_declaration_is_explained(name):
    assert f"| `{name}` |" in PAGE
