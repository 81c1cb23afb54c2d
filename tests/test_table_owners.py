"""Whose tables a package names in SQL: its own, and of packages below it those that it may read, as listed here.

What a package wants of another's tables otherwise is a function of their owner. Where a package wants to know something
of one above it, that one registers it: see `audit.calls.decisions`.
"""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest
from django.apps import apps

from tenants.scope.sql_files import ROOT

_LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
# From the lowest to the highest, as imports go.
PACKAGES: list[str] = list(reversed(_LAYERS))
# What is read of packages below, since a question more would be asked on every turn, request or delivery.
MAY_READ = {
    # Whose a call without a run is, held against deletion.
    "audit": {"tenants", "users"},
    # A member's policy, rules, and who may decide: one query with what the package knows of them itself; the
    # language of who keeps a note.
    "tools": {"memberships", "tenants", "users"},
    "approvals": {"memberships", "users"},
    # How the last calls of a service's tools went; whose tools they are.
    "services": {"tool_calls"},
    # Who is to be notified, at which address.
    "notifications": {"memberships", "users"},
    # A run with its calls and what they wait for; what the sweeper looks for; a run's replay, in one snapshot.
    "gateway": {
        *("tool_calls", "ledger_entries", "ledger_tiles", "approval_requests", "approval_decisions", "questions"),
        # Which of the operator's providers a tenant may use.
        # Whether a schedule's owner may still begin runs.
        *("memberships", "tenants", "users"),
    },
}
OWNERS = {
    str(model._meta.db_table): model._meta.app_label
    for model in apps.get_models(include_auto_created=True)
    if model._meta.app_label in PACKAGES
}
FUNCTIONS = {path.stem: name for name in PACKAGES for path in ROOT.glob(f"{name}/**/*.sql")}

_TABLE = r"(?:ONLY\s+)?(?:public\.)?(\w+)"
# In lists, too: FROM one a, another b
_READ = re.compile(r"\b(?:FROM|JOIN|USING)\s+((?:ONLY\s+)?\w+(?:(?:\s+(?:AS\s+)?[a-z]\w*)?\s*,\s*\w+)*)")
_BEFORE_JOIN = re.compile(r"(\w+)\s+(?:AS\s+)?\w+\s+(?:(?:LEFT|RIGHT|FULL|INNER|CROSS)\s+)?JOIN\b")
_WRITTEN = re.compile(rf"\b(?:INSERT\s+INTO|DELETE\s+FROM|TRUNCATE|COPY|(?<!DO )(?<!FOR )UPDATE)\s+{_TABLE}")
_CALLED = re.compile(r"\b(\w+)\(")
_SQL = re.compile(r"\b(?:SELECT|INSERT\s+INTO|DELETE\s+FROM|UPDATE\s+\w+(?:\s+\w+)?\s+SET)\b")
_COMMENT = re.compile(r"--.*")


@dataclass(frozen=True)
class Use:
    """That a file of a package reads, writes or calls a table or SQL function in SQL, or just says its name."""

    package: str
    file: str
    name: str
    how: str

    @property
    def owner(self) -> str:
        """The package that the table or function belongs to."""
        return OWNERS.get(self.name) or FUNCTIONS[self.name]

    @property
    def goes_up(self) -> bool:
        """Whether that package is above this one."""
        return PACKAGES.index(self.owner) > PACKAGES.index(self.package)

    def __str__(self) -> str:
        return f"{self.file} {self.how} {self.name} of {self.owner}"


def _strings(source: str) -> Iterator[str]:
    """The strings of a module except docstrings; of an f-string what it says, with a gap for each value."""
    tree = ast.parse(source)
    done = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            done |= {id(part) for part in parts}
            yield " … ".join(str(part.value) for part in parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in done:
            yield node.value


def _named(text: str) -> Iterator[tuple[str, str]]:
    """What a text names, and how."""
    text = _COMMENT.sub("", text)
    yield from ((name, "writes") for name in _WRITTEN.findall(text))
    for listed in _READ.findall(_WRITTEN.sub("", text)):
        yield from ((part.removeprefix("ONLY ").split()[0], "reads") for part in listed.split(",") if part.split())
    yield from ((name, "reads") for name in _BEFORE_JOIN.findall(text))
    if _SQL.search(text):
        yield from ((name, "calls") for name in _CALLED.findall(text) if name in FUNCTIONS)
    # A common word may be anything; so what is said beside SQL counts where it cannot be a word.
    if "_" in text:
        yield text.strip(), "says"


def uses(package: str, file: str, texts: Iterable[str]) -> set[Use]:
    """What a file's texts name of other packages."""
    named = {each for text in texts for each in _named(text) if each[0] in OWNERS or each[0] in FUNCTIONS}
    return {use for each in named if (use := Use(package, file, *each)).owner != package}


@pytest.fixture(scope="module")
def found() -> set[Use]:
    """What all packages name of each other."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            file = str(path.relative_to(ROOT))
            if path.suffix == ".sql":
                found |= uses(package, file, [path.read_text()])
            elif path.suffix == ".py" and "migrations" not in path.parts:
                found |= uses(package, file, _strings(path.read_text()))
    return found


def test_no_package_names_a_table_or_function_of_a_package_above_it(found: set[Use]) -> None:
    assert sorted(str(use) for use in found if use.goes_up) == []


def test_no_package_writes_a_table_of_another_package(found: set[Use]) -> None:
    assert sorted(str(use) for use in found if use.how == "writes") == []


def test_of_packages_below_only_what_is_listed_is_read(found: set[Use]) -> None:
    read: dict[str, set[str]] = {}
    for use in found:
        if use.how == "reads" and not use.goes_up:
            read.setdefault(use.package, set()).add(use.name)
    assert read == {package: names for package, names in MAY_READ.items() if package in PACKAGES}


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ('Q = "SELECT * FROM runs WHERE id = %s"', {("runs", "reads")}),
        ('Q = f"SELECT {x} FROM {y} a JOIN runs r ON r.id = a.id"', {("runs", "reads")}),
        ('Q = "SELECT 1 FROM tool_calls c, runs r"', {("runs", "reads")}),
        ('Q = "SELECT 1 FROM tool_calls AS c, runs r"', {("runs", "reads")}),
        ('SOURCE = "runs r JOIN tool_calls c ON c.run_id = r.id"', {("runs", "reads")}),
        ('Q = "UPDATE runs SET fence = 1"', {("runs", "writes")}),
        ('Q = "DELETE FROM runs"', {("runs", "writes")}),
        ('Q = "SELECT 1 FROM tool_calls FOR UPDATE"', set()),
        ('Q = "SELECT id FROM run_marks(%s)"', {("run_marks", "reads"), ("run_marks", "calls")}),
        ('Q = "SELECT renew_run_leases(%s, %s, %s)"', {("renew_run_leases", "calls")}),
        ('TABLE = "approval_decisions"', {("approval_decisions", "says")}),
        ('"""It reads FROM runs."""', set()),
        ('Q = "SELECT 1 FROM ledger_entries JOIN erasures e ON true"', set()),
        ('LABEL = "approved by rules"', set()),
    ],
)
def test_what_python_says_in_sql_is_found(source: str, named: set[tuple[str, str]]) -> None:
    assert {(use.name, use.how) for use in uses("audit", "a.py", _strings(source))} == named
