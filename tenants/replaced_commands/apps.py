"""The app that holds the replaced commands, and nothing else."""

from django.apps import AppConfig


class ReplacedCommandsConfig(AppConfig):
    """Commands only."""

    name = "tenants.replaced_commands"
