"""Where e-mail goes without a mail server: a directory that only its owner reads, one file a connection."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.mail.backends import filebased


class Mailbox(filebased.EmailBackend):
    """Django's file mailbox, private and there on demand."""

    def __init__(self, *args: Any, **options: Any):
        Path(settings.EMAIL_FILE_PATH).mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(*args, **options)
