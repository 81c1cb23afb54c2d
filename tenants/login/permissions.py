"""Which scope a view asks for."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from tenants.people.principal import Principal


class HasScope(BasePermission):
    """The principal's scopes hold the one that the view names in `scope`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """False becomes 401 without a principal and 403 with one."""
        principal = request.user
        if not isinstance(principal, Principal):
            return False
        self.message = f"This needs the scope {view.scope}."
        return view.scope in principal.scopes
