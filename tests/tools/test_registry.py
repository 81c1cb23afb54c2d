import importlib

import pytest

from tools import builtin, registry
from tools.interface import Tier, Tool, ToolResult
from tools.registry import Registry
from tools.schemas.schema import InvalidToolDeclaration

PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


class Ping(Tool):
    name = "ping"
    description = "Answer."
    parameters = PARAMETERS
    tier = Tier.READ_ONLY

    async def execute(self, params, ctx):
        return ToolResult("pong", "pong")


def changed(**attributes):
    return type("Changed", (Ping,), attributes)()


@pytest.fixture(autouse=True)
def fresh_registry():
    registry.registry.cache_clear()
    yield
    registry.registry.cache_clear()


def test_a_registered_tool_is_found_by_its_name():
    tools = Registry()
    ping = Ping()
    tools.register(ping)
    assert tools.get("ping") is ping
    assert (tools.names(), tools.all()) == (("ping",), (ping,))


@pytest.mark.parametrize("name", ["Ping", "PING", "ping ", "ping\n", "p\u200bing", "\u0440ing", "ping\x00", "", "pin"])
def test_only_the_exact_name_finds_a_tool(name):
    tools = Registry()
    tools.register(Ping())
    assert tools.get(name) is None


@pytest.mark.parametrize("name", ["a", "web_search", "weather.today", "a1.b_2", "a" * 64])
def test_a_name_is_lower_case_words_with_at_most_one_dot(name):
    tools = Registry()
    tools.register(changed(name=name))
    assert tools.names() == (name,)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Ping",
        "1ping",
        "_ping",
        "ping-pong",
        "ping pong",
        "a.b.c",
        ".a",
        "a.",
        "a.1",
        "a..b",
        "ping\n",
        "pïng",
        "a" * 65,
    ],
)
def test_any_other_name_is_refused(name):
    tools = Registry()
    with pytest.raises(InvalidToolDeclaration, match="name must be"):
        tools.register(changed(name=name))
    assert tools.names() == ()


def test_a_name_that_is_taken_is_refused():
    tools = Registry()
    first = Ping()
    tools.register(first)
    with pytest.raises(InvalidToolDeclaration, match="tool 'ping' .*taken by tool 'ping'"):
        tools.register(Ping())
    assert tools.all() == (first,)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"name": None}, "name is missing"),
        ({"description": " "}, "description must have"),
        ({"description": "x" * 5000}, "description must have"),
        ({"tier": "read_only"}, "tier is missing"),
        ({"parameters": {"type": "object"}}, "additionalProperties"),
        ({"parameters": None}, "parameters is missing"),
        ({"handles": {"notes"}}, "handles is missing or of the wrong type"),
        ({"handles": frozenset({"tenant_id"})}, "handles has"),
        ({"handles": frozenset({"http"}), "transactional": True}, "transactional"),
        ({"rate": "30"}, "rate must look"),
        ({"rate": "0/m"}, "rate must look"),
        ({"timeout": 0}, "timeout must be"),
        ({"timeout": 31.0}, "timeout must be"),
        ({"timeout": float("nan")}, "timeout must be"),
        ({"labels": {"reads_private"}}, "labels is missing or of the wrong type"),
        ({"labels": frozenset({"secret"})}, "labels may hold reads_private"),
        ({"destinations": ("nowhere",)}, "destinations has ['nowhere']"),
        ({"execute": Tool.execute}, "execute is missing"),
    ],
)
def test_a_declaration_that_is_wrong_is_refused_with_its_reason(attributes, reason):
    tools = Registry()
    with pytest.raises(InvalidToolDeclaration, match="tool .*Changed") as caught:
        tools.register(changed(**attributes))
    assert reason in str(caught.value)
    assert tools.names() == ()


BUNDLED = (
    *("add_task", "cancel_schedule", "canvas", "complete_task", "create_reminder", "delete_file"),
    *("edit_file", "file_info"),
    *("label_session", "list_files", "list_schedules", "list_sessions", "list_tasks", "memory_search"),
    *("memory_store", "message", "read_file", "read_session", "run_schedule", "save_note", "schedule"),
    *("search_files", "search_notes", "send_email", "send_to_session", "subagent", "tools_call", "tools_search"),
    *("update_task", "web_fetch", "web_search", "write_file"),
)


def test_the_bundled_tools_are_found_once_for_the_process():
    assert registry.registry().names() == BUNDLED
    assert registry.registry() is registry.registry()


def test_every_bundled_tool_says_what_it_reads_and_where_it_reaches():
    silent = [tool.name for tool in registry.registry().all() if "labels" not in vars(type(tool))]
    assert silent == [], "a tool that declares no labels is taken to have all of them"


def test_a_tool_that_says_nothing_has_every_label():
    assert Ping().labels_of({}) == {"reads_private", "reads_untrusted", "leaves_tenant"}


TOOL_FILE = """
from tools.interface import Tier, Tool, ToolResult

class _Base(Tool):
    tier = Tier.READ_ONLY
    parameters = {"type": "object", "properties": {}, "additionalProperties": False}

    async def execute(self, params, ctx):
        return ToolResult(self.name, self.name)

class Added(_Base):
    name = "NAME"
    description = "Added by an operator."
"""


def test_a_file_in_the_builtin_folder_is_a_tool_without_further_ado(tmp_path, monkeypatch):
    (tmp_path / "added_by_operator.py").write_text(TOOL_FILE.replace("NAME", "added"))
    monkeypatch.setattr(builtin, "__path__", [*builtin.__path__, str(tmp_path)])
    assert registry.registry().names() == tuple(sorted((*BUNDLED, "added")))


def test_a_file_that_takes_a_bundled_tools_name_stops_the_start(tmp_path, monkeypatch):
    (tmp_path / "taken_by_operator.py").write_text(TOOL_FILE.replace("NAME", "save_note"))
    monkeypatch.setattr(builtin, "__path__", [*builtin.__path__, str(tmp_path)])
    with pytest.raises(InvalidToolDeclaration, match=r"taken_by_operator\.Added.*taken by tool 'save_note'|SaveNote"):
        registry.registry()


def install(folder, monkeypatch, entry):
    metadata = folder / "extra-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[toolgate.tools]\n{entry}\n")
    monkeypatch.syspath_prepend(str(folder))


def test_an_entry_point_of_another_package_is_a_tool(tmp_path, monkeypatch):
    (tmp_path / "extra_installed.py").write_text(TOOL_FILE.replace("NAME", "extra.added"))
    install(tmp_path, monkeypatch, "added = extra_installed:Added")
    assert type(registry.registry().get("extra.added")).__module__ == "extra_installed"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [("broken = no_such_module:Tool", "cannot be loaded"), ("wrong = json:dumps", "is not a Tool subclass")],
)
def test_an_entry_point_that_is_no_tool_stops_the_start_by_its_name(tmp_path, monkeypatch, entry, reason):
    install(tmp_path, monkeypatch, entry)
    with pytest.raises(InvalidToolDeclaration, match=f"entry point {entry.split()[0]} .*{reason}"):
        registry.registry()


def test_only_what_a_module_itself_defines_is_found(tmp_path, monkeypatch):
    (tmp_path / "operators_module.py").write_text(TOOL_FILE.replace("NAME", "added"))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("operators_module")
    module.Imported = Ping
    assert [tool.name for tool in registry.tools_in(module)] == ["added"]
