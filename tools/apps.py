"""The tools app, what models may call and who may let them."""

from typing import Any

from django.apps import AppConfig
from django.core import checks


class ToolsConfig(AppConfig):
    """The tools app, what models may call and who may let them."""

    name = "tools"
    verbose_name = "Tools"

    def ready(self) -> None:
        """Give pages the gates' labels, and let `manage.py check`, and every command that checks first, say which tool
        is not usable."""
        from audit.templatetags import audit_text
        from tools.gates import order

        audit_text.label_gates(order.label)
        checks.register(_check_tools)


def _check_tools(**options: Any) -> list[checks.CheckMessage]:
    from tools.registry import registry
    from tools.schemas.schema import InvalidToolDeclaration

    try:
        registry()
    except InvalidToolDeclaration as error:
        return [checks.Error(str(error), id="tools.E001")]
    return []
