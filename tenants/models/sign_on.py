"""Single sign-on: providers, the domains that are confirmed, and who people are at a provider."""

import uuid

from django.db import models

from tenants.models.people import Role, User
from tenants.models.tenant import Tenant
from tenants.scope.jsonb import JSONField


class SignOnProvider(models.Model):
    """An OpenID provider at which people with addresses of a domain log in to a tenant; its owners say so."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="sign_on_providers")
    domain = models.CharField(max_length=253, help_text="In lower case, such as example.com; it is never changed.")
    issuer = models.CharField(max_length=500)
    client_id = models.CharField(max_length=500)
    client_secret = models.TextField(blank=True, help_text="Encrypted; empty: a public client.")
    role_claim = models.CharField(max_length=200, blank=True, help_text="The claim that says the role; empty: none.")
    roles = JSONField(
        default=list, blank=True, help_text='[{"value": "admins", "role": "owner"}, …]: the first that fits counts.'
    )
    default_role = models.CharField(
        max_length=16, choices=Role.choices, blank=True, help_text="For whom the claim names none; empty: refused."
    )
    creates_members = models.BooleanField(default=False, help_text="Whether people who are no members become such.")
    readmits_members = models.BooleanField(default=False, help_text="Whether that is so for removed members, too.")
    trusts_addresses = models.BooleanField(
        default=False, help_text="Whether an address counts that the provider does not call verified."
    )
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "sign_on_providers"
        verbose_name = "single sign-on provider"
        ordering = ["domain"]
        constraints = [models.UniqueConstraint(fields=["tenant", "domain"], name="sign_on_providers_tenant_domain")]

    def __str__(self) -> str:
        return self.domain


class ConfirmedDomain(models.Model):
    """That a domain is a tenant's: the operator says so, since it decides who logs in where."""

    domain = models.CharField(primary_key=True, max_length=253)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="domains")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "confirmed_domains"
        ordering = ["domain"]

    def __str__(self) -> str:
        return self.domain


class SignOnIdentity(models.Model):
    """Who a person is at a provider: its issuer and their subject there, never their address alone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="sign_on_identities")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_on_identities")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "sign_on_identities"
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "issuer", "subject"], name="sign_on_identities_subject"),
            models.UniqueConstraint(fields=["tenant", "issuer", "user"], name="sign_on_identities_user"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.issuer}"
