"""The tools app, what models may call and who may let them."""

from django.apps import AppConfig


class ToolsConfig(AppConfig):
    """The tools app, what models may call and who may let them."""

    name = "tools"
    verbose_name = "Tools"
