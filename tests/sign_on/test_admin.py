"""What operators see and do about sign-in in the admin."""

from tests.approvals.admin import operator
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast
from tests.sign_on.provider import SECRET, Provider


def test_an_operator_confirms_a_domain_and_sees_no_secret(tenant: Cast, provider: Provider) -> None:
    row = provider.set_up(tenant, confirm=False)
    operator(tenant.olga)
    admin = signed_in(tenant.olga)
    form = {"domain": f"{provider.domain.upper()}.", "tenant": str(tenant.id)}
    assert admin.post("/admin/tenants/confirmeddomain/add/", form).status_code == 302
    confirmed = rows("SELECT tenant_id FROM confirmed_domains WHERE domain = %(d)s", d=provider.domain)
    assert confirmed == [{"tenant_id": tenant.id}]
    changes = rows("SELECT action FROM setting_changes WHERE tenant_id = %(t)s AND target = 'domain'", t=tenant.id)
    assert changes == [{"action": "created"}]
    page = admin.get(f"/admin/tenants/signonprovider/{row.pk}/change/").content.decode()
    assert provider.issuer in page and SECRET not in page and row.client_secret not in page
    assert admin.post(f"/admin/tenants/signonprovider/{row.pk}/change/", {"enabled": ""}).status_code == 403
    assert admin.post(f"/admin/tenants/confirmeddomain/{provider.domain}/delete/", {"post": "yes"}).status_code == 302
    assert rows("SELECT tenant_id FROM confirmed_domains WHERE domain = %(d)s", d=provider.domain) == []


def test_an_operator_ends_a_session(tenant: Cast) -> None:
    operator(tenant.olga)
    admin, member = signed_in(tenant.olga), signed_in(tenant.alice)
    assert member.get("/settings/sessions/").status_code == 200
    [row] = rows("SELECT * FROM user_sessions WHERE user_id = %(u)s", u=tenant.alice.principal.user_id)
    page = admin.get(f"/admin/tenants/usersession/{row['id']}/change/").content.decode()
    assert row["session_key"] not in page and tenant.alice.username in page
    assert admin.post(f"/admin/tenants/usersession/{row['id']}/delete/", {"post": "yes"}).status_code == 302
    assert member.get("/settings/sessions/").status_code == 302
    many = {"action": "delete_selected", "post": "yes", "_selected_action": []}
    other = signed_in(tenant.bob)
    assert other.get("/settings/sessions/").status_code == 200
    [row] = rows("SELECT id FROM user_sessions WHERE user_id = %(u)s", u=tenant.bob.principal.user_id)
    assert admin.post("/admin/tenants/usersession/", many | {"_selected_action": [str(row["id"])]}).status_code == 302
    assert other.get("/settings/sessions/").status_code == 302
