"""`make test-changed` runs the tests that a change concerns: those that its mutations name are among them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.changed import choice, names
from tests.changed.references import ROOT, Sources
from tests.mutations.catalogue import MUTATIONS

MUTATED = sorted({each.file for each in MUTATIONS if each.file})


@pytest.fixture(scope="module")
def sources() -> Sources:
    return Sources()


@pytest.mark.parametrize("file", MUTATED)
def test_a_change_that_breaks_a_guarantee_concerns_a_test_that_notices(sources: Sources, file: str) -> None:
    concerned = choice.concerned([file], sources)
    assert isinstance(concerned, dict)
    for mutation in MUTATIONS:
        if mutation.file == file:
            noticing = {test.partition("::")[0] for test in mutation.tests}
            assert any(each == test or each.startswith(f"{test}/") for each in concerned for test in noticing), mutation


@pytest.mark.parametrize(
    ("changed", "nearest"),
    [
        # Itself; who imports it; who imports a helper beside it.
        ("tests/tools/test_gates.py", {"tests/tools/test_gates.py": 0}),
        ("gateway/schedules/cron.py", {"tests/schedules/test_cron.py": 1}),
        ("tests/approvals/rules.py", {"tests/approvals/test_rules.py": 0}),
        # Who sends requests to its views, through Django and before it.
        ("gateway/rest/schedules.py", {"tests/schedules/test_rest.py": 1}),
        ("gateway/mcp/app.py", {"tests/mcp/test_requests.py": 1}),
        # Who names it: a template by its view, a script by its template, a function of SQL, a command, a page of docs.
        ("templates/history/charts.html", {"tests/pages/test_charts.py": 2}),
        ("tenants/limits/sql/request_limits_of.sql", {"tests/tenants/test_sql_functions.py": 1}),
        ("gateway/management/commands/backup.py", {"tests/gateway/test_backup.py": 1}),
        ("docs/README.md", {"tests/test_docs.py": 1}),
        # What all tests of a folder stand on.
        ("tests/services/conftest.py", {"tests/services/test_answers.py": 0}),
    ],
)
def test_a_change_concerns_those_that_refer_to_it(sources: Sources, changed: str, nearest: dict[str, int]) -> None:
    steps = sources.tests(changed)
    assert nearest.items() <= steps.items()


def test_a_migration_concerns_whom_its_functions_concern(sources: Sources) -> None:
    assert "flow_taint" in sources.text("audit/migrations/0019_taint.py")
    for changed in ("audit/migrations/0019_taint.py", "audit/calls/sql/flow_taint.sql"):
        assert sources.tests(changed)["tests/taint/test_only_grows.py"] == 1


@pytest.mark.parametrize("changed", ["pyproject.toml", "tests/conftest.py", "tools/gates/that_is_gone.py", "LICENSE"])
def test_nobody_can_say_whom_it_concerns_where_no_way_leads_to_a_test(sources: Sources, changed: str) -> None:
    undecided = choice.concerned(["gateway/schedules/cron.py", changed], sources)
    assert undecided == choice.Undecided(changed)


def _listed(*arguments: str) -> tuple[str, str, int]:
    done = processes.run([sys.executable, "-m", "tests.changed", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout, done.stderr, done.returncode


def test_the_command_lists_the_nearest_tests_and_says_how_many_there_are() -> None:
    tests, said, code = _listed("tests/tools/test_gates.py", "--minutes", "0.01")
    assert (tests, code) == ("tests/tools/test_gates.py\n", 0)
    assert said.startswith("1 of the 1 files of tests that the change concerns: about ")


def test_the_command_lists_every_test_where_nobody_can_say() -> None:
    said = "every test, since nobody can say which of them LICENSE concerns\n"
    assert _listed("tests/tools/test_gates.py", "LICENSE") == ("tests\n", said, 0)
    tests, said, code = _listed("--since", "no-such-commit")
    assert (tests, code) == ("tests\n", 0)
    assert said.startswith("every test, since git does not say what has changed")


def test_the_nearest_are_run_first_until_the_time_is_used_up() -> None:
    steps = {"far": (2, 0.0), "slow": (1, 0.5), "quick": (1, 0.5), "alike": (1, 0.0), "farther": (3, 0.0)}
    distances = {test: choice.Distance(*distance) for test, distance in steps.items()}
    seconds = {"alike": 3.0, "slow": 50.0, "quick": 5.0, "far": 10.0, "farther": 1.0}
    assert choice.within(distances, seconds, 1) == ["alike", "quick", "slow"]
    assert choice.within(distances, seconds, 1.15) == ["alike", "quick", "slow", "far", "farther"]
    assert choice.within(distances, seconds, 0.01) == ["alike"]
    assert choice.within(distances, seconds, 0) == ["alike", "quick", "slow", "far", "farther"]
    assert choice.within({}, {}, 1) == []


def test_a_test_that_is_named_after_a_file_is_near_it() -> None:
    assert names.alike("audit/changes/recording.py", "tests/audit/test_changes.py") == 1
    assert names.alike("audit/changes/recording.py", "tests/audit/test_tiles.py") == 0.5
    assert names.alike("audit/changes/recording.py", "tests/tools/test_cache.py") == 0


def test_a_tree_without_git_has_its_files(tmp_path: Path) -> None:
    for name in ("tools/gates.py", "var/data.py", ".venv/library.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert Sources(tmp_path).paths == ["README.md", "tools/gates.py"]


def _git(root: Path, *command: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *who, *command], cwd=root, check=True, capture_output=True)


def test_git_says_what_has_changed_since_a_commit_was_left(tmp_path: Path) -> None:
    for name in ("kept", "changed", "removed", "moved"):
        (tmp_path / name).write_text(f"{name}\n" * 9)
    _git(tmp_path, "init", "-b", "main")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-m", "One")
    _git(tmp_path, "checkout", "-b", "work")
    (tmp_path / "changed").write_text("anew")
    _git(tmp_path, "mv", "moved", "here")
    _git(tmp_path, "commit", "-am", "Two")
    (tmp_path / "removed").unlink()
    (tmp_path / "néw").write_text("")
    assert choice.changed_files("HEAD", tmp_path) == ["néw", "removed"]
    assert choice.changed_files("main", tmp_path) == ["changed", "here", "néw", "removed"]
    # What others have committed to `main` meanwhile is no part of this change.
    _git(tmp_path, "stash", "--include-untracked")
    _git(tmp_path, "checkout", "main")
    (tmp_path / "kept").write_text("theirs")
    _git(tmp_path, "commit", "-am", "Three")
    _git(tmp_path, "checkout", "work")
    assert choice.changed_files("main", tmp_path) == ["changed", "here"]


def test_a_run_of_whole_files_notes_how_long_they_take(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "test_one.py").write_text("def test_a(): pass\ndef test_b(): pass")
    (tmp_path / "test_two.py").write_text("def test_c(): assert False")
    noted = tmp_path / ".pytest_cache/v/toolgate/seconds"

    def run(*arguments: str) -> None:
        command = [sys.executable, "-m", "pytest", "-p", "tests.durations", "--rootdir", tmp_path, *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        processes.run(command, cwd=tmp_path, env=environment, capture_output=True)

    run("test_one.py::test_a")
    run("-k", "test_a")
    run("test_two.py")
    assert not noted.exists()
    run("test_one.py")
    assert list(json.loads(noted.read_text())) == ["test_one.py"]
