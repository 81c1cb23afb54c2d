"""Who refers to a file of the project, and so which tests a change of it concerns."""

import os
import re
import subprocess
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import grimp

from tests.changed import names

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("approvals", "audit", "bench", "gateway", "notifications", "services", "tenants", "tests", "tools")
# The bare ASGI callables that stand before Django, by the folder that answers.
BESIDE_DJANGO = {
    "gateway/rest/chat/fast.py": "/api/v1/chat",
    "gateway/compat/chat_completions": "/v1/chat/completions",
    "gateway/compat/responses": "/v1/responses",
    "gateway/compat/messages": "/v1/messages",
    "gateway/compat/models": "/v1/models",
    "gateway/mcp": "/mcp",
    "gateway/web/inbox_socket.py": "/ws/inbox/",
    "approvals/web/live_socket.py": "/ws/approvals/",
}


# These read every file of a kind.
READERS = {".md": "tests/test_docs.py", ".sql": "tests/tenants/test_sql_functions.py"}
# These name files of all kinds, to try what this package says of them, and to break them.
NAMING_MANY = ("tests/changed/", "tests/mutations/")
MADE = {"var", "staticfiles", "secrets", "backups", "__pycache__"}


class Sources:
    """The files of the project, with the references between them."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.paths = _files(root)
        self._texts: dict[str, str] = {}
        self._known: dict[str, set[str]] = {}
        self._modules = {_module(path): path for path in self.paths if path.endswith(".py")}

    def text(self, path: str) -> str:
        """What a file says; "" for a picture and the like."""
        if path not in self._texts:
            try:
                self._texts[path] = (self.root / path).read_text()
            except (UnicodeDecodeError, OSError):
                self._texts[path] = ""
        return self._texts[path]

    def tests(self, path: str) -> dict[str, int]:
        """The files of tests that refer to a file, with the fewest steps that lead from them to it; 0 for itself."""
        steps = dict.fromkeys(self._meant(path), 0)
        ring = set(steps)
        count = 0
        while ring:
            # A test consists of the helpers beside it: these are no steps.
            helpers = {each for each in ring if _is_helper(each)}
            while helpers:
                beside = {each for helper in helpers for each in self._referring(helper)} - steps.keys()
                steps |= dict.fromkeys(beside, count)
                ring |= beside
                helpers = {each for each in beside if _is_helper(each)}
            count += 1
            ring = {each for one in ring if not is_test(one) for each in self._referring(one)} - steps.keys()
            if count == 1:
                ring |= {each for each in self._tests if names.alike(path, each) == 1} - steps.keys()
            steps |= dict.fromkeys(ring, count)
        return {each: count for each, count in steps.items() if is_test(each)}

    def _meant(self, path: str) -> set[str]:
        """The files that a change of this one changes: a migration is its SQL functions, or the models of its app."""
        folders = Path(path).parts
        if "migrations" not in folders:
            return {path}
        text = self.text(path)
        functions = {each for each in self._functions if re.search(rf"\b{Path(each).stem}\b", text)}
        return functions or {f"{folders[0]}/models.py"}

    def _referring(self, path: str) -> set[str]:
        if path not in self._known:
            self._known[path] = self._found(path) - {path}
        return self._known[path]

    def _found(self, path: str) -> set[str]:
        if path.endswith("conftest.py"):
            return {each for each in self._tests if each.startswith(path.removesuffix("conftest.py"))}
        if path.endswith(".py"):
            return self._importing(path) | self._sending(path) | self._naming(path)
        return self._naming(path)

    def _importing(self, path: str) -> set[str]:
        module = _module(path)
        if module not in self._graph.modules:
            return set()
        importers = self._graph.find_modules_that_directly_import(module)
        return {self._modules[each] for each in importers if each in self._modules}

    def _naming(self, path: str) -> set[str]:
        """Those that have the name of a file in their text, as one names such a file."""
        name = Path(path)
        among = self._readers
        match path.split("/")[0], name.suffix:
            case "templates", _:
                wanted = re.escape(path.removeprefix("templates/"))
            case "static", _:
                wanted = rf"[\"'/]{re.escape(name.name)}\b"
            case _, ".sql":
                wanted = rf"\b{name.stem}\b"
            case _, ".py" if "commands" in name.parts:
                wanted, among = rf"[\"' ]{name.stem.replace('_', '[_-]')}[\"' ]", self._tests
            case _, ".py" if path.startswith("tools/builtin/"):
                wanted, among = rf"call: {name.stem}\b|[\"']{name.stem}[\"']", self._of_tests
            case _, ".py" if "templatetags" in name.parts:
                wanted = rf"load [\w ]*\b{name.stem}\b"
            case folder, ".py" if folder in PACKAGES:
                return self._strings.get(_module(path), set())
            case _:
                wanted, among = rf"{re.escape(name.name)}\b", self._tests
        pattern = re.compile(wanted)
        readers = {READERS[name.suffix]} if name.suffix in READERS else set()
        return readers | {
            each for each in among if not each.startswith(NAMING_MANY) and pattern.search(self.text(each))
        }

    def _sending(self, path: str) -> set[str]:
        """Those that have a URL of a view in their text."""
        routes = self._routes.get(path, set())
        routes = routes | {url for place, url in BESIDE_DJANGO.items() if path.startswith(place)}
        if "admin" in path and not path.startswith("tests/"):
            routes = {"/admin/"}
        if not routes:
            return set()
        pattern = re.compile("|".join(rf"{re.escape(each)}(?![\w-])" for each in sorted(routes)))
        return {each for each in self._of_tests if pattern.search(self.text(each))}

    @cached_property
    def _graph(self) -> grimp.ImportGraph:
        # Not in import-linter's cache: that notes what has changed once for all graphs, and its own would go stale.
        return grimp.build_graph(*PACKAGES, cache_dir=None)

    @cached_property
    def _strings(self) -> dict[str, set[str]]:
        """Those that have the name of a module in a string, as settings and `monkeypatch.setattr` want it."""
        found: dict[str, set[str]] = {}
        pattern = re.compile(rf"[\"']((?:{'|'.join(PACKAGES)})(?:\.\w+)+)")
        for path in self._readers:
            for name in pattern.findall(self.text(path)):
                while name:
                    found.setdefault(name, set()).add(path)
                    name = name.rpartition(".")[0]
        return found

    @cached_property
    def _of_tests(self) -> list[str]:
        return [each for each in self.paths if each.startswith("tests/") and each.endswith(".py")]

    @cached_property
    def _tests(self) -> list[str]:
        return [each for each in self._of_tests if is_test(each)]

    @cached_property
    def _functions(self) -> list[str]:
        return [each for each in self.paths if each.endswith(".sql")]

    @cached_property
    def _readers(self) -> list[str]:
        kinds = (".py", ".html", ".sql", ".js", ".css")
        return [each for each in self.paths if each.endswith(kinds) and "/migrations/" not in each]

    @cached_property
    def _routes(self) -> dict[str, set[str]]:
        """The URLs of each file of views, as far as they are the same for every request."""
        found: dict[str, set[str]] = {}
        for route, module in _views():
            if module in self._modules and len(route) > 1:
                found.setdefault(self._modules[module], set()).add(route)
        return found


def is_test(path: str) -> bool:
    """Whether pytest finds tests in a file."""
    return path.startswith("tests/") and Path(path).name.startswith("test_") and path.endswith(".py")


def git(root: Path, *command: str) -> list[str]:
    """The names that a git command prints; raises OSError or CalledProcessError."""
    done = subprocess.run(["git", *command, "-z"], cwd=root, check=True, capture_output=True, text=True)
    return [each for each in done.stdout.split("\0") if each]


def _files(root: Path) -> list[str]:
    """The files that git knows or would take; in a tree without git, all but what is made."""
    try:
        known = git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    except (OSError, subprocess.CalledProcessError):
        known = []
        for folder, folders, files in os.walk(root):
            folders[:] = [each for each in folders if not each.startswith(".") and each not in MADE]
            known += [Path(folder, each).relative_to(root).as_posix() for each in files]
    return sorted(each for each in known if (root / each).is_file())


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _is_helper(path: str) -> bool:
    return path.startswith("tests/") and path.count("/") > 1 and not is_test(path)


def _views() -> Iterable[tuple[str, str]]:
    """Each URL up to its first parameter, with the module of its view."""
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    settings = {"DATABASE_URL": nowhere, "DATABASE_OWNER_URL": nowhere, "REDIS_URL": "redis://127.0.0.1:1/0"}
    os.environ |= settings | {"DJANGO_SETTINGS_MODULE": "gateway.config.settings"} | dict(os.environ)
    import django
    from django.urls import URLPattern, get_resolver

    django.setup()
    todo = [("/", each) for each in get_resolver().url_patterns]
    while todo:
        before, each = todo.pop()
        route = before + str(each.pattern).lstrip("^")
        if isinstance(each, URLPattern):
            view = getattr(each.callback, "view_class", None) or getattr(each.callback, "cls", each.callback)
            yield re.split(r"[<(]", route)[0].rstrip("/"), view.__module__
        else:
            todo += [(route, one) for one in each.url_patterns]
