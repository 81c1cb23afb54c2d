"""Every tool of this process, by name: found in `tools/builtin/` and in other packages' entry points.

One that is not usable is a fault of the installation: `require` ends the process for it before it serves anybody, and
`manage.py check` reports it.
"""

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from django.conf import settings as django_settings

from tools import builtin, configuration
from tools.configuration import InvalidSettings, Values
from tools.interface import Setting, Tier, Tool, ToolContext
from tools.labels import EVERY_LABEL, Label
from tools.schemas.schema import InvalidToolDeclaration, declare

ENTRY_POINTS = "toolgate.tools"
# The longest function name that OpenAI and Anthropic accept.
MAX_NAME = 64
MAX_DESCRIPTION = 4096
MAX_TIMEOUT = 30.0

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_RATE = re.compile(r"[1-9][0-9]{0,8}/[smhd]")
# The handles are the context's optional fields, so a new handle needs no second list; what a call had left is none.
_HANDLES = frozenset(field.name for field in fields(ToolContext) if field.default is None) - {"state"}


class Registry:
    """Tools by name; what is not in it cannot be called."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._settings: dict[str, Values] = {}
        self._declared: dict[str, Setting] = {}
        self._all: tuple[Tool, ...] | None = None

    def register(self, tool: Tool) -> None:
        """Add a tool; raises InvalidToolDeclaration for a declaration that is wrong or a name that is taken."""
        try:
            _check(tool)
            self._configure(tool)
        except (InvalidToolDeclaration, InvalidSettings) as error:
            raise InvalidToolDeclaration(f"{_title(tool)}: {error}") from None
        self._tools[tool.name] = tool
        self._all = None

    def _configure(self, tool: Tool) -> None:
        if tool.name in self._tools:
            raise InvalidToolDeclaration(f"its name is taken by {_title(self._tools[tool.name])}")
        configuration.check(tool.settings)
        for setting in tool.settings:
            if self._declared.setdefault(setting.name, setting) != setting:
                raise InvalidSettings(f"another tool declares the setting {setting.name} in other words")
        # What the operator lets nobody call needs no settings.
        allowed = django_settings.TOOLGATE_ALLOWED_TOOLS
        if allowed is None or tool.name in allowed:
            self._settings[tool.name] = configuration.read(tool.settings)

    def get(self, name: str) -> Tool | None:
        """The tool of exactly this name: no other case, no look-alike."""
        return self._tools.get(name)

    def settings(self, name: str) -> Values:
        """The values of what the tool of that name declares; none for a tool that the operator does not allow."""
        return self._settings.get(name, configuration.NONE)

    def declared_settings(self) -> tuple[Setting, ...]:
        """Every setting that a tool declares, once, in the order of their names."""
        return tuple(self._declared[name] for name in sorted(self._declared))

    def all(self) -> tuple[Tool, ...]:
        """Every tool, in the order of their names; the same tuple while they are the same."""
        if self._all is None:
            self._all = tuple(self._tools[name] for name in self.names())
        return self._all

    def names(self, *, listed: bool = False) -> tuple[str, ...]:
        """Every tool's name, sorted; with `listed` of those alone that are in lists."""
        return tuple(sorted(name for name, tool in self._tools.items() if tool.listed or not listed))


@cache
def registry() -> Registry:
    """This process's tools, found once; raises InvalidToolDeclaration when one of them is not usable."""
    found = Registry()
    for tool in [*_bundled(), *_installed()]:
        found.register(tool)
    return found


def require() -> None:
    """Find this process's tools now; where one is not usable, end the process with one line that says which and why."""
    try:
        registry()
    except InvalidToolDeclaration as error:
        # The real one: beat has put its log in the place of standard error by now.
        print(f"toolgate: {error}", file=sys.__stderr__, flush=True)
        sys.exit(1)


def tools_in(module: ModuleType) -> list[Tool]:
    """One instance of each Tool subclass that the module itself defines, in its order; "_" marks a base class."""
    return [
        member()
        for member in vars(module).values()
        # Not isinstance: a module may hold lazy objects, such as Django's settings, that it would wake.
        if issubclass(type(member), type)
        and issubclass(member, Tool)
        and member.__module__ == module.__name__
        and not member.__name__.startswith("_")
    ]


def _bundled(package: ModuleType = builtin) -> Iterable[Tool]:
    """The tools in the package's files, and in those of its folders."""
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
        try:
            module = importlib.import_module(f"{package.__name__}.{found.name}")
            yield from _bundled(module) if found.ispkg else tools_in(module)
        except InvalidToolDeclaration:
            raise
        # A file's own sys.exit must not end the process without a word.
        except (Exception, SystemExit) as error:
            at = getattr(found.module_finder.find_spec(found.name, None), "origin", found.name)
            raise InvalidToolDeclaration(f"{at} cannot be loaded: {_words(error)}") from error


def _installed() -> Iterable[Tool]:
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
        except (Exception, SystemExit) as error:
            raise InvalidToolDeclaration(f"{_entry(entry)} cannot be loaded: {_words(error)}") from error
        if not (isinstance(loaded, type) and issubclass(loaded, Tool)):
            raise InvalidToolDeclaration(f"{_entry(entry)} is not a Tool subclass")
        try:
            yield loaded()
        except Exception as error:
            raise InvalidToolDeclaration(f"{_entry(entry)} cannot be made: {_words(error)}") from error


def _check(tool: Tool) -> None:
    name = _attribute(tool, "name", str)
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InvalidToolDeclaration(
            f"name must be lower-case words such as save_note or service.tool, at most {MAX_NAME} characters"
        )
    description = _attribute(tool, "description", str)
    if not description.strip() or len(description) > MAX_DESCRIPTION:
        raise InvalidToolDeclaration(f"description must have 1 to {MAX_DESCRIPTION} characters")
    highest = _attribute(tool, "tier", Tier)
    if tool.least_tier is not None:
        if not isinstance(tool.least_tier, Tier) or tool.least_tier.rank >= highest.rank:
            raise InvalidToolDeclaration("least_tier must be a tier below tier")
        if type(tool).tier_of is Tool.tier_of:
            raise InvalidToolDeclaration("tier_of is missing, which says what tier a call has")
    declare(_attribute(tool, "parameters", dict))
    _attribute(tool, "settings", tuple)
    if not _attribute(tool, "labels", frozenset) <= EVERY_LABEL:
        raise InvalidToolDeclaration(f"labels may hold {', '.join(Label)}, as tools.labels.Label has them")
    unknown = {*_attribute(tool, "destinations", tuple)} - {*tool.parameters.get("properties", {})}
    if unknown:
        raise InvalidToolDeclaration(f"destinations has {sorted(unknown)}, which are no parameters")
    unknown = _attribute(tool, "handles", frozenset) - _HANDLES
    if unknown:
        raise InvalidToolDeclaration(f"handles has {sorted(unknown)}; there are {sorted(_HANDLES)}")
    if tool.transactional and "http" in tool.handles:
        raise InvalidToolDeclaration(
            "a transactional tool cannot have the http handle: it would hold a transaction open"
        )
    if "children" in tool.handles and not tool.transactional:
        raise InvalidToolDeclaration("a tool with the children handle is transactional: the run begins with its call")
    if not _RATE.fullmatch(_attribute(tool, "rate", str)):
        raise InvalidToolDeclaration('rate must look like "30/m", with s, m, h or d')
    if not 0 < _attribute(tool, "timeout", (int, float)) <= MAX_TIMEOUT:
        raise InvalidToolDeclaration(f"timeout must be more than 0 and at most {MAX_TIMEOUT:g} seconds")
    if type(tool).execute is Tool.execute:
        raise InvalidToolDeclaration("execute is missing")


def _attribute(tool: Tool, attribute: str, kind: Any) -> Any:
    value = getattr(tool, attribute, None)
    if not isinstance(value, kind):
        raise InvalidToolDeclaration(f"{attribute} is missing or of the wrong type")
    return value


def _title(tool: Tool) -> str:
    kind = type(tool)
    at = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return f"tool {getattr(tool, 'name', None)!r} ({kind.__module__}.{kind.__qualname__}{f' in {at}' if at else ''})"


def _entry(entry: EntryPoint) -> str:
    package = f" of {entry.dist.name}" if entry.dist else ""
    return f"entry point {entry.name} ({entry.value}){package}"


def _words(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
