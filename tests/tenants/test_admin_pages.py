"""What a page of the admin costs does not depend on how many tenants there are."""

import pytest
from django.contrib import admin
from django.urls import reverse

from tests.approvals.admin import operator
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
OF_TENANTS = [model for model in MODELS if hasattr(model, "tenant")]


def _address(model: type, page: str) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}")  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", OF_TENANTS, ids=lambda model: model.__name__)
def test_a_list_narrowed_to_a_tenant_names_no_other(model: type, tenant: Cast, other_tenant: Cast) -> None:
    operator(tenant.olga)
    answer = signed_in(tenant.olga).get(_address(model, "changelist"), {"tenant__id__exact": str(tenant.id)})
    assert answer.status_code in (200, 302)
    if answer.status_code == 302:
        # It has no such filter.
        assert not any("tenant" in each for each in admin.site._registry[model].list_filter)
    assert other_tenant.slug not in answer.content.decode()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_form_for_a_new_row_names_no_tenant_and_no_person(model: type, tenant: Cast, other_tenant: Cast) -> None:
    operator(tenant.olga)
    answer = signed_in(tenant.olga).get(_address(model, "add"))
    assert answer.status_code in (200, 403)
    assert other_tenant.slug not in answer.content.decode()


def test_a_key_is_made_for_a_member_alone(tenant: Cast, other_tenant: Cast) -> None:
    operator(tenant.olga)
    client, page = signed_in(tenant.olga), "/admin/tenants/apikey/add/"
    form = {"tenant": str(tenant.id), "name": "ci", "expires_at_0": "", "expires_at_1": ""}
    stranger = client.post(page, form | {"user": str(other_tenant.alice.scope.user_id)})
    assert f"{other_tenant.alice.username} is no member of {tenant.slug}." in stranger.content.decode()
    beyond = client.post(page, form | {"user": str(tenant.alice.scope.user_id), "scopes": ["admin"]})
    assert "The role member does not allow admin." in beyond.content.decode()
    assert _named(tenant) == _named(other_tenant) == []
    made = client.post(page, form | {"user": str(tenant.alice.scope.user_id), "scopes": ["chat"]})
    assert made.status_code == 200 and "data-key>tg_" in made.content.decode()
    assert _named(tenant) == [{"user_id": tenant.alice.scope.user_id, "scopes": ["chat"]}]


def _named(cast: Cast) -> list[dict[str, object]]:
    return rows("SELECT user_id, scopes FROM api_keys WHERE tenant_id = %(t)s AND name = 'ci'", t=cast.id)
