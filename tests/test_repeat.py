"""`make test-repeat` counts a run that did not pass, whatever else did, and each run begins with a clean clone."""

import subprocess
from pathlib import Path

import pytest

from tests import repeat

IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@example.com"]


def _committed(checkout: Path, recipe: str) -> Path:
    """A checkout whose `make test` is this, with a change that is not committed."""
    checkout.mkdir()
    (checkout / "Makefile").write_text(f"test:\n\t@{recipe}\n")
    for command in (["init", "-q"], ["add", "Makefile"], ["commit", "-qm", "A suite"]):
        subprocess.run(["git", "-C", str(checkout), *IDENTITY, *command], check=True)
    (checkout / "left").touch()
    return checkout


@pytest.fixture(autouse=True)
def _clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(repeat.tempfile, "tempdir", str(tmp_path))


def test_runs_that_pass_are_counted_and_cleared_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = _committed(tmp_path / "source", "! test -e left && touch left && echo 3 passed in 1s")
    assert repeat.main(["--times", "3", "--at-once", "2", "--busy", "1"], suite) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("1: 3 passed in 1s (")
    assert last == "3 of 3 runs passed"
    assert list(tmp_path.glob("toolgate-suite-*")) == []


def test_one_run_that_does_not_pass_fails_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flag = tmp_path / "second"
    suite = _committed(
        tmp_path / "source", f"if test -e {flag}; then echo 1 failed; exit 1; fi; touch {flag}; echo 3 passed"
    )
    assert repeat.main(["--times", "2"], suite) == 1
    lines = capsys.readouterr().out.splitlines()
    [clone] = tmp_path.glob("toolgate-suite-*")
    assert lines[0].startswith("1: 3 passed (")
    assert lines[1].startswith("2: 1 failed (") and lines[1].endswith(f"; see {clone / 'run.log'}")
    assert lines[2] == "1 of 2 runs passed"
    assert "1 failed" in (clone / "run.log").read_text()


@pytest.mark.parametrize("recipe", ["exit 5", "true"])
def test_a_suite_in_which_no_test_ends_has_not_passed(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repeat.main(["--times", "1"], _committed(tmp_path / "source", recipe)) == 1
    assert capsys.readouterr().out.startswith("1: not one test ended (")


def test_what_cannot_be_cloned_is_no_run_that_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert repeat.main(["--times", "1"], tmp_path / "nowhere") == 1
    assert capsys.readouterr().out.endswith("0 of 1 runs passed\n")


def test_the_arguments_of_the_repetition_are_not_those_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGS", "--times 1")
    suite = _committed(tmp_path / "source", 'test -z "$(ARGS)" && echo 3 passed')
    assert repeat.main(["--times", "1"], suite) == 0


def test_where_nothing_may_be_skipped_the_conformance_suite_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = _committed(tmp_path / "source", "test -e fetched && echo 3 passed")
    (suite / "Makefile").open("a").write("conformance:\n\t@touch fetched\n")
    subprocess.run(["git", "-C", str(suite), *IDENTITY, "commit", "-qam", "Conformance"], check=True)
    monkeypatch.setenv("CI", "1")
    assert repeat.main(["--times", "1"], suite) == 0
    monkeypatch.delenv("CI")
    assert repeat.main(["--times", "1"], suite) == 1


@pytest.mark.parametrize("arguments", [["--times", "0"], ["--at-once", "0"], ["--busy", "-1"]])
def test_no_runs_at_all_are_refused(arguments: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refused:
        repeat.main(arguments, tmp_path)
    assert refused.value.code == 2
