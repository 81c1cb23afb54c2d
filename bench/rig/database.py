"""A migrated database in a directory of its own, and Django set up to use it in this process."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.rig.stack import ROOT
from gateway.embedded.services.together import EmbeddedServices


@contextmanager
def migrated(kept: Path | None = None) -> Iterator[tuple[EmbeddedServices, Path]]:
    """The services and their directory: `kept` with what it holds, else a new one that is removed in the end."""
    with ExitStack() as stack:
        directory = kept or Path(tempfile.mkdtemp(prefix="toolgate-bench-"))
        if kept is None:
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
        services = stack.enter_context(EmbeddedServices(directory, durable=False))
        os.environ |= services.addresses() | {
            "TOOLGATE_ENV": "development",
            "TOOLGATE_DATA_DIR": str(directory / "toolgate"),
            "DJANGO_SETTINGS_MODULE": "gateway.config.settings",
            "PYTHONWARNINGS": "ignore",
        }
        for command in (["setup_database"], ["migrate", "-v0", "--skip-checks"]):
            subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        import django

        django.setup()
        yield services, directory
