"""People, their keys, how they come in, and what protects a tenant, in the admin."""

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.idp.oidc.models import Client, Token
from allauth.mfa.models import Authenticator
from django.contrib import admin

from tenants.admin import invitations, keys, kill_switches, people, request_limits, signing_in

__all__ = ["invitations", "keys", "kill_switches", "people", "request_limits", "signing_in"]

# Of allauth: no table of these is used as its own pages use it.
for _unused in (EmailAddress, EmailConfirmation, Client, Token, Authenticator):
    if admin.site.is_registered(_unused):
        admin.site.unregister(_unused)
