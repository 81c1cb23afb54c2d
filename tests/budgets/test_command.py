"""`manage.py budgets`, and the admin's pages."""

import io

import pytest
from django.core.management import CommandError, call_command

from tests.budgets.rows import make_budget
from tests.database import rows
from tests.people import Cast


def _run(*arguments: object) -> str:
    out = io.StringIO()
    call_command("budgets", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_an_operator_sets_lists_and_ends_budgets_of_any_tenant(tenant: Cast, other_tenant: Cast) -> None:
    made = _run("create", tenant.slug, "0.10", "--window", "day", "--user", tenant.alice.scope.user_id).strip()
    assert f"{made}  user {tenant.alice.scope.user_id}  US$0.10 in a day  0 spent, 0 reserved" in _run(
        "list", tenant.slug
    )
    foreign = make_budget(other_tenant, 1)
    with pytest.raises(CommandError, match="has no budget"):
        _run("delete", tenant.slug, foreign)
    _run("delete", tenant.slug, made)
    assert _run("list", tenant.slug) == ""
    said = rows("SELECT action, via FROM setting_changes WHERE tenant_id = %(id)s ORDER BY id", id=tenant.id)
    assert [(each["action"], each["via"]) for each in said] == [("created", "command"), ("deleted", "command")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "nobody", "1"), "there is no tenant nobody"),
        (("create", "{slug}", "-1e30"), "limit must be a number"),
        (("create", "{slug}", "1", "--user", "x"), "must be an id"),
    ],
)
def test_what_is_no_budget_is_one_clear_line(tenant: Cast, arguments: tuple[str, ...], words: str) -> None:
    given = [each.format(slug=tenant.slug) for each in arguments]
    if "-1e30" in given:
        given = [given[0], given[1], "--", "-1e30"]
    with pytest.raises(CommandError, match=words):
        _run(*given)
