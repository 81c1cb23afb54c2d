"""A tool that is not usable stops the start of every process, with one line that names its file and what is wrong."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.stack import ROOT, free_port
from tests.tools.test_registry import TOOL_FILE

CODE = (
    "approvals",
    "audit",
    "gateway",
    "notifications",
    "services",
    "static",
    "templates",
    "tenants",
    "tools",
    "docs",
    "manage.py",
    "pyproject.toml",
)
SETTING = 'class Added(_Base):\n    settings = (Setting("CRM_URL", "where the CRM is"),)'
FILES = {
    "a name that is taken": (
        TOOL_FILE.replace("NAME", "save_note"),
        "added.py): its name is taken by tool 'save_note'",
    ),
    "no tier": (
        TOOL_FILE.replace("NAME", "added").replace("    tier = Tier.READ_ONLY\n", ""),
        "added.py): tier is missing or of the wrong type",
    ),
    "no Python": ("class Added(:\n", "added.py cannot be loaded: SyntaxError: invalid syntax"),
    "an import that is not there": ("import crm_client\n", "added.py cannot be loaded: ModuleNotFoundError: No module"),
    "a setting that is set nowhere": (
        TOOL_FILE.replace("NAME", "added")
        .replace("class Added(_Base):", SETTING)
        .replace("import Tier", "import Setting, Tier"),
        "added.py): CRM_URL must be set: where the CRM is; or leave the tool out of TOOLGATE_ALLOWED_TOOLS",
    ),
}
TAKEN, TAKEN_WORDS = FILES["a name that is taken"]
CELERY = [sys.executable, "-m", "celery", "-A", "gateway", "--quiet"]
COMMANDS = {
    "web": [sys.executable, "-m", "uvicorn", "gateway.config.asgi:application", "--port", str(free_port())],
    "worker": [*CELERY, "--skip-checks", "worker", "--concurrency", "1"],
    "beat": [*CELERY, "--skip-checks", "beat", "--schedule", "beat-schedule"],
    "command": [sys.executable, "-m", "gateway.embedded.preparation"],
}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Toolgate of its own, whose files can be changed."""
    place = tmp_path_factory.mktemp("installation")
    for name in CODE:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place / name)
    return place


def run(place: Path, command: list[str], **environment: str) -> tuple[int, list[str]]:
    """The exit code, and the lines that are Toolgate's own on standard error."""
    given = os.environ | environment | {"PYTHONPATH": f"{place}:{environment.get('PYTHONPATH', '')}"}
    # Its files change from test to test: no process is forked that has read them already.
    del given["DJANGO_SETTINGS_MODULE"]
    ended = processes.run(command, cwd=place, env=given, capture_output=True, text=True)
    lines = ended.stderr.splitlines()
    assert "Traceback (most recent call last):" not in lines
    return ended.returncode, [line for line in lines if line.startswith("toolgate: ") or "tools.E001" in line]


def add(place: Path, text: str) -> None:
    """Put a file into the folder of tools."""
    (place / "tools/builtin/added.py").write_text(text)


@pytest.mark.parametrize("process", COMMANDS)
def test_no_process_starts_with_a_tool_whose_name_is_taken(installation: Path, process: str) -> None:
    add(installation, TAKEN)
    code, lines = run(installation, COMMANDS[process], TOOLGATE_PROCESS=process)
    assert code == 1
    [line] = lines
    assert line.startswith("toolgate: tool 'save_note' (tools.builtin.")
    assert "/tools/builtin/added.py" in line
    assert "its name is taken by" in line


@pytest.mark.parametrize(("text", "words"), FILES.values(), ids=FILES)
def test_the_check_names_the_file_and_what_is_wrong(installation: Path, text: str, words: str) -> None:
    add(installation, text)
    code, lines = run(installation, [sys.executable, "manage.py", "check"])
    assert code == 1
    [line] = [line for line in lines if "tools.E001" in line]
    assert "/tools/builtin/" in line
    assert words in line or "save_note" in line


def test_an_entry_point_that_cannot_be_imported_stops_the_start(installation: Path, tmp_path: Path) -> None:
    add(installation, "")
    metadata = tmp_path / "extra-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[toolgate.tools]\ncrm = no_such_module:Lookup\n")
    code, lines = run(installation, COMMANDS["web"], TOOLGATE_PROCESS="web", PYTHONPATH=str(tmp_path))
    assert (code, lines) == (
        1,
        [
            "toolgate: entry point crm (no_such_module:Lookup) of extra cannot be loaded: ModuleNotFoundError: "
            "No module named 'no_such_module'"
        ],
    )


def test_with_the_fault_gone_everything_is_well(installation: Path) -> None:
    add(installation, FILES["a setting that is set nowhere"][0])
    code, _ = run(installation, [sys.executable, "manage.py", "check"], CRM_URL="https://crm.example.com")
    assert code == 0
    code, _ = run(installation, [sys.executable, "manage.py", "check"], TOOLGATE_ALLOWED_TOOLS="save_note")
    assert code == 0
