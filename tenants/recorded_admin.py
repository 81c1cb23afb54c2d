"""Admin pages whose changes are put on record, each in the transaction of the change."""

from collections.abc import Iterable
from typing import Any

from django.db import router, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from tenants.models import Membership
from tenants.people import recorded
from tenants.people.changes import Said, record_all


class RecordedAdmin(ModelAdmin):
    """What is saved and deleted here is on record; `said` is what is said of a row.

    Rows of memberships that are edited beside it are, too.
    """

    def said(self, row: Any) -> Iterable[Said]:
        """What the record says of a row, as it is stored."""
        raise NotImplementedError

    def _stored(self, row: Model) -> list[Said]:
        found = self.model._base_manager.filter(pk=row.pk).first()
        return [] if found is None else list(self.said(found))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save it, and record what is different."""
        before = self._stored(obj) if change else []
        super().save_model(request, obj, form, change)
        record_pairs(before, self._stored(obj))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save the rows beside it, and record what is different in memberships."""
        if formset.model is not Membership:
            super().save_formset(request, form, formset, change)
            return
        before = _memberships(formset)
        super().save_formset(request, form, formset, change)
        record_pairs(before, _memberships(formset))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete it, and record that."""
        with transaction.atomic(using=router.db_for_write(self.model)):
            before = self._stored(obj)
            super().delete_model(request, obj)
            record_pairs(before, [])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete those that were chosen, and record each."""
        with transaction.atomic(using=router.db_for_write(self.model)):
            before = [said for row in queryset for said in self.said(row)]
            super().delete_queryset(request, queryset)
            record_pairs(before, [])


def record_pairs(before: Iterable[Said], after: Iterable[Said]) -> None:
    """Record what became of settings, each found again by its tenant and id."""
    old, new = ({(each.tenant_id, each.target, each.target_id): each for each in many} for many in (before, after))
    record_all((old.get(which), new.get(which)) for which in {**old, **new})


def _memberships(formset: Any) -> list[Said]:
    found = Membership.objects.select_related("user").filter(**{formset.fk.name: formset.instance})
    return [recorded.member(row) for row in found]
