"""What tools declare that the operator configures them with."""

import pytest
from django.test import override_settings

from tests.tools.test_registry import changed
from tools import configuration
from tools.configuration import InvalidSettings, Values
from tools.errors import ToolExecutionError
from tools.interface import Setting
from tools.registry import Registry
from tools.schemas.schema import InvalidToolDeclaration

URL = Setting("CRM_URL", "where the CRM is")
TOKEN = Setting("CRM_TOKEN", "the token", secret=True)
PLAN = Setting("CRM_PLAN", default="basic")


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (("CRM_URL",), "must be a tuple of Setting"),
        ((Setting("crm_url"),), "must be upper-case words"),
        ((Setting("CRM URL"),), "must be upper-case words"),
        ((Setting("SECRET_KEY"),), "is Toolgate's own"),
        ((Setting("DATABASE_OWNER_URL"),), "is Toolgate's own"),
        ((Setting("TOOLGATE_ANYTHING"),), "is Toolgate's own"),
        ((Setting("OPENAI_API_KEY"),), "is Toolgate's own"),
        ((Setting("CRM_TOKEN_FILE"),), "is Toolgate's own"),
        ((Setting("CRM_PORT", default=5),), "must be a text"),
        ((Setting("CRM_TOKEN", secret=True, default="geheim"),), "is secret, and its default would not be"),
        ((URL, Setting("CRM_URL", default="")), "names one of them twice"),
    ],
)
def test_a_wrong_declaration_is_refused(declared, reason):
    with pytest.raises(InvalidSettings, match=reason):
        configuration.check(declared)
    with pytest.raises(InvalidToolDeclaration, match=reason):
        Registry().register(changed(settings=declared))


def test_settings_come_from_the_environment_from_files_and_from_defaults(monkeypatch, tmp_path):
    (tmp_path / "token").write_text("geheim-123\n")
    monkeypatch.setenv("CRM_URL", "https://crm.example.com")
    monkeypatch.setenv("CRM_TOKEN_FILE", str(tmp_path / "token"))
    tools = Registry()
    tools.register(changed(settings=(URL, TOKEN, PLAN)))
    values = tools.settings("ping")
    assert dict(values) == {"CRM_URL": "https://crm.example.com", "CRM_TOKEN": "geheim-123", "CRM_PLAN": "basic"}
    assert tools.declared_settings() == (PLAN, TOKEN, URL)
    assert [configuration.shown(each, values) for each in (URL, TOKEN, PLAN)] == [
        "https://crm.example.com", "set", "basic"
    ]  # fmt: skip
    assert repr(values) == "<settings CRM_URL, CRM_TOKEN, CRM_PLAN>"


def test_one_that_must_be_set_and_is_not_is_named(monkeypatch):
    monkeypatch.delenv("CRM_URL", raising=False)
    with pytest.raises(InvalidToolDeclaration, match=r"CRM_URL must be set: where the CRM is"):
        Registry().register(changed(settings=(URL,)))


def test_a_file_that_cannot_be_read_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CRM_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(InvalidToolDeclaration, match="CRM_TOKEN_FILE names .*none, which cannot be read"):
        Registry().register(changed(settings=(TOKEN,)))


@override_settings(TOOLGATE_ALLOWED_TOOLS=["save_note"])
def test_a_tool_that_nobody_may_call_needs_no_settings():
    tools = Registry()
    tools.register(changed(settings=(URL,)))
    assert (dict(tools.settings("ping")), tools.declared_settings()) == ({}, (URL,))
    assert configuration.shown(URL, tools.settings("ping")).startswith("not read")


def test_two_tools_share_a_setting_that_they_declare_alike(monkeypatch):
    monkeypatch.setenv("CRM_URL", "x")
    tools = Registry()
    tools.register(changed(settings=(URL,)))
    tools.register(changed(name="pong", settings=(URL,)))
    with pytest.raises(InvalidToolDeclaration, match="another tool declares the setting CRM_URL in other words"):
        tools.register(changed(name="pang", settings=(Setting("CRM_URL", default=""),)))
    assert tools.names() == ("ping", "pong")


def test_no_secret_is_in_an_error_or_a_traceback():
    values = Values(
        {"CRM_URL": "https://crm.example.com", "CRM_TOKEN": "geheim-123", "SHORT": "x"}, ("CRM_TOKEN", "SHORT")
    )
    error = values.cleaned(ToolExecutionError("https://crm.example.com/?key=geheim-123 failed: x"))
    assert error.message == "https://crm.example.com/?key=[CRM_TOKEN] failed: x"
    assert values.without_secrets("Bearer geheim-123") == "Bearer [CRM_TOKEN]"
