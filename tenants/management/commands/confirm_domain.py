"""`manage.py confirm_domain DOMAIN --tenant SLUG [--remove]`: whose a domain is, for single sign-on."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.management.accounts import as_operator
from tenants.models import ConfirmedDomain, Tenant
from tenants.people import recorded
from tenants.people.changes import record


class Command(BaseCommand):
    """Say that a domain is a tenant's: people with addresses of it log in where this tenant says."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Which domain, and whose."""
        parser.add_argument("domain")
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--remove", action="store_true", help="it is this tenant's no more")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line that says what was done; another tenant's domain is refused."""
        domain = options["domain"].strip().lower().rstrip(".")
        if not domain.isascii() or "." not in domain or "@" in domain or len(domain) > 253:
            raise CommandError(f"{options['domain']!r} is no domain like example.com; write others in their xn-- form")
        with as_operator():
            tenant = Tenant.objects.filter(slug=options["tenant"]).first()
            if tenant is None:
                raise CommandError(f"there is no tenant {options['tenant']!r}")
            known = ConfirmedDomain.objects.select_related("tenant").filter(domain=domain).first()
            if known is not None and known.tenant_id != tenant.pk:
                raise CommandError(f"{domain} is confirmed for {known.tenant.slug}; remove it there first")
            if options["remove"]:
                if known is None:
                    raise CommandError(f"{domain} is not confirmed")
                before = recorded.DOMAIN.of(known)
                known.delete()
                record(before, None)
                self.stdout.write(f"nobody logs in by {domain} any more")
                return
            if known is None:
                record(None, recorded.DOMAIN.of(ConfirmedDomain.objects.create(domain=domain, tenant=tenant)))
            self.stdout.write(f"people of {domain} log in to {tenant.slug} by its single sign-on")
