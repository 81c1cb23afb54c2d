"""The documents are true: links lead somewhere, names exist, and examples work as printed."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.apps import apps
from prometheus_client import REGISTRY

from audit.models import ErrorCode, LedgerEntry, Status, ToolCall
from gateway.config.urls import api
from gateway.http import problems
from tenants.login.authentication import by_key_now
from tenants.models import Role
from tenants.people.principal import SCOPES
from tests.database import rows
from tests.people import Cast
from tests.waiting import until

if TYPE_CHECKING:
    from tests.stack import Stack

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BY_NAME = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
LARGEST_PICTURE = 200 * 1024

# A reader in a hurry finds what to do before the first heading of a page, or in its first section.
_TASK = re.compile(r"^To .+?:", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_PATH = re.compile(r"[\w.-]+(/[\w.-]+)*/?")
_NAME = re.compile(r"(?:gateway|approvals|notifications|services|tools|audit|tenants|tests)(?:\.\w+)+")
_FILES = (".py", ".md", ".toml", ".yml", ".lock", ".svg", ".png")
# Methods of the Model Context Protocol that look like paths of the checkout.
_METHOD = re.compile(
    r"tools/(call|list)|notifications/(cancelled|message|resources/updated|subscriptions/acknowledged)"
)
# What a running Toolgate writes, and what only an example makes.
_NOT_IN_THE_CHECKOUT = re.compile(r"var/|my_tools|count_words|staticfiles")


def _prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text())


def _example(page: str, name: str) -> str:
    (code,) = re.findall(rf"<!-- example: {name} -->\n```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    return str(code)


def _anchors(page: Path) -> set[str]:
    """The fragments that a page's headings can be reached by."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(_FENCE.sub("", page.read_text()))
    }


@BY_NAME
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(_prose(page)):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (fragment and fragment not in _anchors(target)):
            broken.append(link)
    assert broken == []


def _is_path(code: str) -> bool:
    """Whether it names a file or folder of the checkout, as far as its form can tell."""
    if (
        not _PATH.fullmatch(code)
        or _METHOD.fullmatch(code)
        or _NOT_IN_THE_CHECKOUT.match(code.rpartition("/")[2])
        or code.startswith("var/")
    ):
        return False
    first, slash, _ = code.partition("/")
    return code.endswith(_FILES) or bool(slash and (ROOT / first).is_dir())


@BY_NAME
def test_every_path_exists(page: Path) -> None:
    named = [code for code in _CODE.findall(_prose(page)) if _is_path(code)]
    assert [code for code in named if not (ROOT / code).exists() and not (page.parent / code).exists()] == []


def _resolves(name: str) -> bool:
    """Whether `package.module.attribute` can be imported and is there; Celery's task names count too."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[length:]:
                found = getattr(found, part)
        except AttributeError:
            from gateway.config.celery import app

            app.loader.import_default_modules()
            return name in app.tasks
        return True
    return False


@BY_NAME
def test_every_module_and_function_exists(page: Path) -> None:
    files = (*_FILES, ".json")
    named = {code for code in _CODE.findall(_prose(page)) if _NAME.fullmatch(code) and not code.endswith(files)}
    assert sorted(name for name in named if not _resolves(name)) == []


@BY_NAME
def test_every_test_that_is_named_exists(page: Path) -> None:
    missing = []
    for code in _CODE.findall(_prose(page)):
        file, found, name = code.partition("::")
        if found and (not (ROOT / file).is_file() or f"def {name}(" not in (ROOT / file).read_text()):
            missing.append(code)
    assert missing == []


@BY_NAME
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {code.split()[1] for code in _CODE.findall(_prose(page)) if re.match(r"make [a-z]", code)}
    assert named - targets == set()


def test_pictures_are_small() -> None:
    pictures = list((ROOT / "docs" / "images").iterdir())
    assert pictures != []
    assert [picture.name for picture in pictures if picture.stat().st_size > LARGEST_PICTURE] == []


def _linked(page: Path) -> set[Path]:
    """The pages that a page links to."""
    paths = (link.partition("#")[0] for link in _LINK.findall(_prose(page)))
    return {(page.parent / path).resolve() for path in paths if path.endswith(".md") and "://" not in path}


def test_every_page_is_reached_from_the_index() -> None:
    reached, to_read = set[Path](), {ROOT / "docs" / "README.md"}
    while to_read:
        reached |= to_read
        to_read = {linked for page in to_read for linked in _linked(page)} - reached
    assert sorted(str(page.relative_to(ROOT)) for page in PAGES if page not in reached) == []


def test_the_index_names_every_page_of_the_documentation() -> None:
    index = ROOT / "docs" / "README.md"
    documentation = set((ROOT / "docs").glob("**/*.md")) - {index}
    assert sorted(str(page.relative_to(ROOT)) for page in documentation - _linked(index)) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_begins_with_its_tasks(page: Path) -> None:
    """Before anything that has to be looked up."""
    beginning = page.read_text().partition("\n## ")[0]
    assert _TASK.search(beginning), beginning


def _changes() -> list[tuple[str, list[str]]]:
    """The rows of "Where does my change go?": a change, and the files that it names."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    section = page.partition("## Where does my change go?\n")[2].partition("\n## ")[0]
    rows_of_table = re.findall(r"^\| (.+?) \| (.+) \|$", section, re.MULTILINE)
    return [(change, _CODE.findall(files)) for change, files in rows_of_table if change != "change"]


def test_where_a_change_goes_is_said_for_twelve_changes_and_more() -> None:
    assert len(_changes()) >= 12


@pytest.mark.parametrize(("change", "files"), _changes())
def test_the_files_of_a_change_exist(change: str, files: list[str]) -> None:
    assert files != [], change
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_architecture_says_what_every_folder_of_a_package_is() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## The path")[0]
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
    folders = [f"{each.parent.relative_to(ROOT)}/" for name in packages for each in ROOT.glob(f"{name}/*/__init__.py")]
    djangos = ("migrations", "templatetags", "admin", "models", "replaced_commands")
    unsaid = [each for each in folders if f"`{each}`" not in page and each.split("/")[1] not in djangos]
    assert len(folders) > 50 and unsaid == []


def test_every_column_status_and_kind_of_the_audit_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "tables.md").read_text()
    columns = [field.column for model in (ToolCall, LedgerEntry) for field in model._meta.fields]
    assert [word for word in (*columns, *Status.values) if f"`{word}`" not in page] == []
    format_page = (ROOT / "docs" / "reference" / "ledger-format.md").read_text()
    assert [kind for kind in LedgerEntry.Kind.values if f"| `{kind}` |" not in format_page] == []


def test_every_table_is_named() -> None:
    page = (ROOT / "docs" / "reference" / "tables.md").read_text()
    ours = [
        apps.get_app_config(label)
        for label in ("gateway", "approvals", "notifications", "services", "tools", "audit", "tenants")
    ]
    tables = [model._meta.db_table for app in ours for model in app.get_models()]
    assert [table for table in tables if f"`{table}`" not in page] == []


def test_every_error_code_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    assert [code for code in (*problems.codes(), *ErrorCode.values) if f"`{code}`" not in page] == []


def test_every_route_of_the_api_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "rest-api.md").read_text()
    routes = [
        "/api/v1/" + re.sub(r"<\w+:(\w+)>", "{\\1}", str(each.pattern)).replace("{run_id}", "{id}") for each in api
    ]
    assert [route for route in routes if f" {route}`" not in page] == []


def test_every_metric_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    ours = {
        sample.name
        for metric in REGISTRY.collect()
        if metric.name.startswith("toolgate_")
        for sample in metric.samples
        if not sample.name.endswith(("_bucket", "_sum", "_count", "_created"))
    } | {metric.name for metric in REGISTRY.collect() if metric.name.startswith("toolgate_")}
    assert sorted(name for name in ours if f"`{name}" not in page) == []


def test_every_role_and_scope_is_explained() -> None:
    page = (ROOT / "docs" / "concepts" / "tenants.md").read_text()
    words = [*Role.values, *frozenset().union(*SCOPES.values())]
    assert [word for word in words if f"| `{word}` |" not in page] == []


# --- the README's request --------------------------------------------------------------------------------------------
@pytest.mark.skipif(shutil.which("curl") is None and "CI" not in os.environ, reason="there is no curl here")
def test_the_readmes_curl_works_as_printed(stack: "Stack", tenant: Cast, tmp_path: Path) -> None:
    """In a checkout where `make up` runs: `.venv/bin/python` and `var/demo.json` are there. Only URL is another."""
    printed = _example("README.md", "curl")
    assert printed.startswith("URL=http://127.0.0.1:8000\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "var").mkdir()
    demo = {"tenants": {"demo": {"alice": {"api_key": tenant.alice.key}}}}
    (tmp_path / "var" / "demo.json").write_text(json.dumps(demo))
    body = json.loads(_run(printed.replace("http://127.0.0.1:8000", stack.url, 1), tmp_path))
    assert body["status"] == "completed"
    assert [(call["tool"], call["status"]) for call in body["tool_calls"]] == [
        ("web_search", "success"),
        ("add_task", "success"),
    ]
    assert body["content"].startswith('I searched the web for "row-level security in PostgreSQL" and found ')
    assert body["usage"]["turns"] == 2
    recorded = rows("SELECT status FROM tool_calls WHERE run_id = %(run)s", run=body["run_id"])
    assert [call["status"] for call in recorded] == ["success", "success"]


# --- the first steps -------------------------------------------------------------------------------------------------
@pytest.mark.skipif(shutil.which("curl") is None and "CI" not in os.environ, reason="there is no curl here")
def test_the_first_chat_works_as_printed(checkout: Path, tenant: Cast) -> None:
    script = _printed("docs/start/first-chat.md", "bash").replace("python3 ", f'"{sys.executable}" ')
    printed = _run(script, checkout)
    answer = json.loads((checkout / "chat.json").read_text())
    assert answer["status"] == "completed"
    assert [(call["tool"], call["status"]) for call in answer["tool_calls"]] == [("save_note", "success")]
    _, length = json.JSONDecoder().raw_decode(printed)
    trace, end = json.JSONDecoder().raw_decode(printed[length:].lstrip())
    assert trace["run_id"] == answer["run_id"]
    assert "event: run.completed" in printed[length + end :]
    ran = rows("SELECT tool_name FROM tool_calls WHERE tenant_id = %(id)s ORDER BY id", id=tenant.id)
    assert [call["tool_name"] for call in ran] == ["save_note", "web_search"]


@pytest.mark.skipif(shutil.which("curl") is None and "CI" not in os.environ, reason="there is no curl here")
def test_the_first_approval_works_as_printed(checkout: Path, tenant: Cast) -> None:
    script = _printed("docs/start/first-approval.md", "bash").replace("python3 ", f'"{sys.executable}" ')
    printed = _run(script, checkout)
    waiting = json.loads((checkout / "mail.json").read_text())
    assert (waiting["status"], waiting["tool_calls"][0]["status"]) == ("requires_action", "awaiting_approval")
    _, length = json.JSONDecoder().raw_decode(printed)
    request, _ = json.JSONDecoder().raw_decode(printed[length:].lstrip())
    assert (request["status"], request["tool"]) == ("approved", "send_email")
    query = "SELECT status FROM runs WHERE id = %(run)s"
    until(lambda: rows(query, run=waiting["run_id"])[0]["status"] == "completed")
    called = rows("SELECT tool_name, status FROM tool_calls WHERE run_id = %(run)s", run=waiting["run_id"])
    assert called == [{"tool_name": "send_email", "status": "success"}]


# --- clients ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def checkout(stack: "Stack", tenant: Cast, tmp_path: Path) -> Path:
    """A directory where `make up` seems to run: with a `var/demo.json` of this test's tenant."""
    people = {name: {"api_key": getattr(tenant, name).key} for name in ("alice", "bob", "carol")}
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "demo.json").write_text(json.dumps({"url": stack.url, "tenants": {"demo": people}}))
    return tmp_path


def _printed(page: str, language: str) -> str:
    """A page's code of one language, which builds on itself, as one text."""
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    "page", ["docs/guides/clients/openai.md", "docs/guides/clients/anthropic.md", "docs/guides/clients/mcp.md"]
)
def test_the_python_of_a_clients_page_prints_what_the_page_says(page: str, checkout: Path) -> None:
    (checkout / "program.py").write_text(_printed(page, "python"))
    assert _run(f'"{sys.executable}" program.py', checkout) == _printed(page, "text")


@pytest.mark.skipif(shutil.which("curl") is None and "CI" not in os.environ, reason="there is no curl here")
def test_the_curl_of_its_page_works_as_printed(checkout: Path, tenant: Cast) -> None:
    script = _printed("docs/guides/clients/curl.md", "bash").replace("python3 ", f'"{sys.executable}" ')
    # Each answer is JSON, but for the stream.
    answers, rest = [], _run(script, checkout)
    while rest:
        stream, end, after = rest.partition("data: [DONE]\n\n") if rest.startswith("data: ") else ("", "", rest)
        if end:
            assert '"tool":"web_search"' in stream
            rest = after
            continue
        answer, length = json.JSONDecoder().raw_decode(rest)
        answers.append(answer)
        rest = rest[length:]
    note, mail, second_note, count, own, task, models = answers
    assert [each["toolgate"]["status"] for each in (note, mail, second_note, own, task)] == [
        "completed",
        "requires_action",
        "completed",
        "completed",
        "completed",
    ]
    assert [item["type"] for item in mail["output"]][-1] == "mcp_approval_request"
    assert count["input_tokens"] > 0
    assert own["choices"][0]["finish_reason"] == "tool_calls"
    assert {"offline/demo", "default"} <= {model["id"] for model in models["data"]}
    ran = rows("SELECT tool_name FROM tool_calls WHERE tenant_id = %(id)s ORDER BY id", id=tenant.id)
    called = ["save_note", "web_search", "send_email", "save_note", "add_task"]
    assert [call["tool_name"] for call in ran] == called


def _run(script: str, directory: Path, **environment: str) -> str:
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=directory,
        env=os.environ | {"no_proxy": "127.0.0.1"} | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _here(script: str) -> str:
    """The script for the Python that runs the tests."""
    return script.replace(".venv/bin/python", f'"{sys.executable}"')


# --- the commands ----------------------------------------------------------------------------------------------------
def test_the_documented_commands_make_a_tenant_an_owner_and_a_narrow_key() -> None:
    slug = f"globex-{uuid.uuid4().hex[:8]}"
    printed = (
        _example("docs/guides/manage-tenants.md", "commands").replace("globex", slug).replace("hank", f"hank-{slug}")
    )
    tenant_id, user_id, key = _run(_here(printed), ROOT).split()
    principal = by_key_now(key)
    assert principal is not None
    assert (str(principal.tenant_id), str(principal.user_id)) == (tenant_id, user_id)
    assert (principal.tenant_slug, principal.role) == (slug, "owner")
    assert principal.scopes == {"chat", "tools:read"}
    agents = rows("SELECT slug, tools, is_default FROM agents WHERE tenant_id = %(id)s", id=tenant_id)
    assert agents == [{"slug": "default", "tools": "all", "is_default": True}]
