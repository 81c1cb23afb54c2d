"""Whatever is done with conversations, what they have read never gets less."""

import os
import uuid
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.people import Cast
from tools.labels import TAINTS

CONVERSATIONS = 3
Step = tuple[Any, ...]
_AT = st.integers(0, CONVERSATIONS - 1)
STEPS = st.one_of(
    st.tuples(st.just("reads"), _AT, st.sets(st.sampled_from(sorted(TAINTS))), st.sampled_from(["a", "b"])),
    st.tuples(st.just("flows"), _AT, _AT),
    st.tuples(st.just("messages deleted"), _AT),
    st.tuples(st.just("rolled back"), _AT),
)


def _do(connection: psycopg.Connection[Any], scope: Any, ids: list[uuid.UUID], step: Step) -> None:
    kind, at, *more = step
    if kind == "reads":
        labels, source = more
        connection.execute(
            "SELECT add_taint(%s, %s, %s, NULL, %s, %s, NULL)", [*scope, ids[at], sorted(labels), source]
        )
    elif kind == "flows":
        connection.execute("SELECT flow_taint(%s, %s, %s, %s, NULL)", [*scope, ids[at], ids[more[0]]])
    elif kind == "messages deleted":
        connection.execute("DELETE FROM messages WHERE conversation_id = %s", [ids[at]])
    else:
        with connection.transaction() as inner:
            connection.execute("SELECT add_taint(%s, %s, %s, NULL, '{private}', 'c', NULL)", [*scope, ids[at]])
            raise psycopg.Rollback(inner)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=12))
def test_what_a_conversation_has_read_never_shrinks(tenant: Cast, steps: list[Step]) -> None:
    scope, ids = tenant.alice.scope, [uuid.uuid4() for _ in range(CONVERSATIONS)]
    expected: list[set[tuple[str, str]]] = [set() for _ in ids]
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        for name, value in zip(("tenant", "user"), scope, strict=True):
            connection.execute("SELECT set_config(%s, %s, true)", [f"toolgate.{name}", str(value)])
        for each in ids:
            connection.execute(
                "INSERT INTO conversations (id, tenant_id, user_id, title, created_at, updated_at) "
                "VALUES (%s, %s, %s, '', now(), now())",
                [each, *scope],
            )
        for step in steps:
            _do(connection, scope, ids, step)
            kind, at, *more = step
            if kind == "reads":
                expected[at] |= {(label, more[1]) for label in more[0]}
            elif kind == "flows":
                expected[more[0]] |= expected[at]
            for each, wanted in zip(ids, expected, strict=True):
                [[found]] = connection.execute("SELECT taint_of(%s)", [each]).fetchall()
                assert {(source["label"], source["source"]) for source in found} == wanted
                [[labels]] = connection.execute("SELECT taint_labels(%s)", [each]).fetchall()
                assert set(labels) == {label for label, _ in wanted}
        connection.rollback()
