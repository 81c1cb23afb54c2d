"""What trees of runs spend: triggers note whatever is beyond a limit of money or a budget, at whichever moment.

They count from what each turn used and has reserved, and ask none of the functions that Toolgate decides with.
"""

from collections import Counter
from typing import Any

import psycopg

from tests.faults.deployment import Deployment

_INSTALL = """
    CREATE TABLE fault_overspent (run_id uuid, budget_id uuid, unit text, used numeric, most numeric);
    -- What counts of a run: its turns, what it has reserved, what an open child was given, what an ended one used.
    CREATE FUNCTION fault_usd(run uuid) RETURNS numeric LANGUAGE sql STABLE AS $$
        WITH RECURSIVE tree AS (
            SELECT run AS id, NULL::numeric AS given
            UNION ALL
            SELECT r.id, CASE WHEN r.finished_at IS NULL THEN (r.profile ->> 'max_run_usd')::numeric END
            FROM tree JOIN runs r ON r.parent_run_id = tree.id WHERE tree.given IS NULL)
        SELECT coalesce(sum(coalesce(t.given,
            (SELECT coalesce(sum(u.cost), 0) FROM turn_usage u WHERE u.run_id = t.id)
            + (SELECT coalesce(sum((v.usage ->> 'cost')::numeric), 0) FROM turn_reservations v WHERE v.run_id = t.id)
        )), 0) FROM tree t
    $$;
    CREATE FUNCTION fault_overspent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
    DECLARE
        held budgets;
    BEGIN
        IF TG_TABLE_NAME = 'budget_windows' THEN
            SELECT * INTO held FROM budgets b WHERE b.id = NEW.budget_id;
            IF NEW.spent + NEW.reserved > held.amount OR NEW.reserved < 0 THEN
                INSERT INTO fault_overspent VALUES (
                    NULL, held.id, held.unit, NEW.spent + NEW.reserved, held.amount);
            END IF;
            RETURN NULL;
        END IF;
        INSERT INTO fault_overspent
        SELECT r.id, NULL, 'usd', fault_usd(r.id), (r.profile ->> 'max_run_usd')::numeric FROM runs r
        WHERE r.id = CASE TG_TABLE_NAME WHEN 'runs' THEN to_jsonb(NEW) ->> 'parent_run_id'
                ELSE to_jsonb(NEW) ->> 'run_id' END::uuid
            AND fault_usd(r.id) > (r.profile ->> 'max_run_usd')::numeric;
        RETURN NULL;
    END $$;
    CREATE TRIGGER fault_overspent AFTER INSERT OR UPDATE ON budget_windows
        FOR EACH ROW EXECUTE FUNCTION fault_overspent();
    CREATE TRIGGER fault_overspent AFTER INSERT ON turn_reservations
        FOR EACH ROW EXECUTE FUNCTION fault_overspent();
    CREATE TRIGGER fault_overspent AFTER INSERT OR UPDATE OF parent_run_id, profile ON runs
        FOR EACH ROW WHEN (NEW.parent_run_id IS NOT NULL) EXECUTE FUNCTION fault_overspent();
"""
# The whole of what a tree's runs cost, by their turns; and what the run says of itself.
_COSTS = """
    SELECT r.id, r.parent_run_id, r.cost, (r.profile ->> 'max_run_usd')::numeric AS most,
        (SELECT coalesce(sum(u.cost), 0) FROM turn_usage u WHERE u.run_id = r.id) AS used
    FROM runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id)
    WHERE root.idempotency_key = ANY(%s) ORDER BY r.depth DESC"""
_STOPPED = """
    SELECT r.error_code, count(*) AS runs FROM runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id)
    WHERE root.idempotency_key = ANY(%s) AND r.error_code = ANY('{run_tokens_spent,run_usd_spent,budget_exhausted}')
    GROUP BY 1"""
_BUDGETS = """
    SELECT b.id, b.amount, b.unit, w.spent, w.reserved,
        (SELECT coalesce(sum(CASE b.unit WHEN 'usd' THEN u.cost ELSE 1 END), 0) FROM turn_usage u
            WHERE u.agent_id = b.agent_id AND u.at >= b.created_at) AS used
    FROM budgets b JOIN budget_windows w ON w.budget_id = b.id"""


def install(superuser_url: str) -> None:
    """Begin to note what is spent beyond a limit; with the rights of a superuser, who sees every row."""
    with psycopg.connect(superuser_url) as connection:
        connection.execute(_INSTALL)


def of_trees(deployment: Deployment, keys: list[str]) -> list[str]:
    """What is wrong with the money of the trees that these keys began, when all of them are over."""
    found = deployment.rows(_COSTS, keys)
    with_below: dict[Any, Any] = {}
    wrong = []
    for run in found:
        if run["cost"] != run["used"]:
            wrong.append(f"run {run['id']} says that it cost US${run['cost']}, and its turns cost US${run['used']}")
        whole = with_below[run["id"]] = with_below.get(run["id"], 0) + run["used"]
        if run["most"] is not None and whole > run["most"]:
            wrong.append(f"run {run['id']} cost US${whole} of {run['most']} with all below it")
        above = run["parent_run_id"]
        with_below[above] = with_below.get(above, 0) + whole
    return wrong


def stopped(deployment: Deployment, keys: list[str]) -> Counter[str]:
    """How many runs of those trees ended at which limit."""
    found = deployment.rows(_STOPPED, keys)
    return Counter({each["error_code"]: each["runs"] for each in found})


def beyond(deployment: Deployment) -> list[str]:
    """What was more than its limit at any moment, and what is wrong with the budgets when nothing runs."""
    wrong = []
    for each in deployment.rows("SELECT * FROM fault_overspent"):
        whose = f"run {each['run_id']}" if each["run_id"] else f"budget {each['budget_id']}"
        wrong.append(f"{whose} had {each['used']} of {each['most']} {each['unit']} in use")
    for each in deployment.rows(_BUDGETS):
        if each["reserved"]:
            wrong.append(f"{each['reserved']} {each['unit']} are still reserved")
        if each["spent"] > each["amount"] or each["spent"] != each["used"]:
            wrong.append(f"{each['spent']} of {each['amount']} {each['unit']} are spent, {each['used']} by turns")
    return wrong
