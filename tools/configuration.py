"""What tools are configured with: the settings that they declare, and their values from the environment.

The values are read once, when the registry finds the tools, through `TOOLGATE_READ_SETTING` of Django's settings, which
knows the environment, `.env` and `NAME_FILE`. A secret's value is in the context of its tool's calls and nowhere else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from django.conf import settings

from tools.errors import ToolError
from tools.interface import Setting

_NAME = re.compile(r"[A-Z][A-Z0-9_]{1,99}")
# Toolgate's own, which are no tool's to read; besides these, whatever Django's settings have.
_OWN = re.compile(r"(TOOLGATE|DATABASE|DJANGO|REDIS|CELERY|APP)_.*|.*_FILE")
# A shorter secret would be found in any text.
_LEAST_SECRET = 4


class InvalidSettings(Exception):
    """A tool's settings cannot be used; the message names the one at fault, and never holds a secret."""


class Values(Mapping[str, str]):
    """A tool's settings by name; when it is printed it says which there are and no value."""

    def __init__(self, values: Mapping[str, str], secrets: Iterable[str] = ()):
        self._values = dict(values)
        self._secrets = {name: values[name] for name in secrets if len(values[name]) >= _LEAST_SECRET}

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<settings {', '.join(self._values)}>"

    def without_secrets(self, text: str) -> str:
        """The text with the name of a secret in place of its value."""
        for name, value in self._secrets.items():
            text = text.replace(value, f"[{name}]")
        return text

    def cleaned(self, error: ToolError) -> ToolError:
        """The error, its message without secrets."""
        error.message = self.without_secrets(error.message)
        return error


NONE = Values({})


def check(declared: tuple[Setting, ...]) -> None:
    """Raise InvalidSettings for a declaration that is wrong."""
    for setting in declared:
        if not isinstance(setting, Setting):
            raise InvalidSettings("settings must be a tuple of Setting")
        if not isinstance(setting.name, str) or not _NAME.fullmatch(setting.name):
            raise InvalidSettings(f"the setting {setting.name!r} must be upper-case words such as CRM_URL")
        if _OWN.fullmatch(setting.name) or hasattr(settings, setting.name):
            raise InvalidSettings(f"the setting {setting.name} is Toolgate's own; give yours another name")
        if setting.default is not None and not isinstance(setting.default, str):
            raise InvalidSettings(f"the default of the setting {setting.name} must be a text, or None: it is required")
        if setting.secret and setting.default:
            raise InvalidSettings(f"the setting {setting.name} is secret, and its default would not be")
    if len({setting.name for setting in declared}) < len(declared):
        raise InvalidSettings("settings names one of them twice")


def read(declared: tuple[Setting, ...]) -> Values:
    """The values; raises InvalidSettings when one that is required is set nowhere, or cannot be read."""
    values = {}
    for setting in declared:
        given = given_value(setting)
        if not given and setting.default is None:
            raise InvalidSettings(
                f"{setting.name} must be set: {setting.description or 'the tool needs it'}; or leave the tool out of"
                " TOOLGATE_ALLOWED_TOOLS"
            )
        values[setting.name] = given or setting.default or ""
    return Values(values, (setting.name for setting in declared if setting.secret))


def shown(setting: Setting, values: Values) -> str:
    """A setting's value for people: of a secret, and of a tool that is not allowed, only as much as may be said."""
    if setting.name not in values:
        return "not read: the tool is not among TOOLGATE_ALLOWED_TOOLS"
    if setting.secret:
        return "set" if values[setting.name] else "not set"
    return values[setting.name] or "not set"


def given_value(setting: Setting) -> str:
    """What the operator has set; empty when it is set nowhere. Raises InvalidSettings."""
    try:
        value: str = settings.TOOLGATE_READ_SETTING(setting.name)
    except Exception as error:
        raise InvalidSettings(str(error)) from None
    return value
