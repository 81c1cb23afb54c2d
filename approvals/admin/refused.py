"""Admin pages that show what a service refuses."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import redirect
from unfold.admin import ModelAdmin

from tenants.errors import Refused


class ShowsRefusals(ModelAdmin):
    """A refusal while a form is saved is a message on the same page."""

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The page, or the page again with the refusal."""
        try:
            return super().changeform_view(request, *args, **kwargs)
        except Refused as refusal:
            self.message_user(request, refusal.detail, messages.ERROR)
            return redirect(request.get_full_path())
