"""Rows as frozen dataclasses: the columns of a statement are the fields, in their order."""

import uuid
from dataclasses import FrozenInstanceError, dataclass

import pytest
from psycopg.types.numeric import Int8

from tenants.scope import rows, transactions
from tenants.scope.transactions import transaction
from tests.people import Cast


@dataclass(frozen=True, slots=True)
class Base:
    """A part of a row."""

    id: uuid.UUID
    name: str


@dataclass(frozen=True, slots=True)
class More(Base):
    """With what may have been asked for too."""

    size: int | None = None
    tags: list[str] | None = None


ROW = "(SELECT '00000000-0000-0000-0000-000000000007'::uuid AS id, 'new' AS later, 3 AS size, 'a' AS name) t"


async def test_a_row_is_made_of_the_columns_that_it_names_whatever_else_the_table_has(tenant: Cast) -> None:
    async with transaction(tenant.alice.scope) as connection:
        found = await rows.one(connection, Base, f"SELECT {rows.columns(Base)} FROM {ROW}", [])
        every = await rows.every(connection, More, f"SELECT {rows.columns(Base, 't')}, t.size FROM {ROW}", [])
    assert found == Base(uuid.UUID(int=7), "a")
    assert every == [More(uuid.UUID(int=7), "a", 3)]


async def test_no_row_is_none_and_none_of_many_is_empty(tenant: Cast) -> None:
    query = f"SELECT {rows.columns(Base)} FROM {ROW} WHERE name = %s"
    async with transaction(tenant.alice.scope) as connection:
        assert await rows.one(connection, Base, query, ["b"]) is None
        assert await rows.every(connection, Base, query, ["b"]) == []


async def test_rows_beside_others_stay_dictionaries(tenant: Cast) -> None:
    async with transaction(tenant.alice.scope) as connection:
        await rows.one(connection, Base, f"SELECT {rows.columns(Base)} FROM {ROW}", [])
        assert await (await connection.execute("SELECT 1 AS it")).fetchone() == {"it": 1}


def test_a_row_never_changes() -> None:
    row = Base(uuid.UUID(int=7), "a")
    with pytest.raises(FrozenInstanceError):
        row.name = "b"  # type: ignore[misc]


def test_an_insert_names_the_fields_and_takes_their_values() -> None:
    tags = ["x"]
    row = More(uuid.UUID(int=7), "a", tags=tags)
    assert rows.columns(More) == "id, name, size, tags"
    assert rows.placeholders(More) == "%(id)s, %(name)s, %(size)s, %(tags)s"
    assert rows.values(row) == {"id": uuid.UUID(int=7), "name": "a", "size": None, "tags": ["x"]}
    assert rows.values(row)["tags"] is tags


_SAID = "SELECT %(a)s::text AS a, %(b)s::int8 AS b, %(a)s::text || '%%' AS again, NULL AS nothing"


@pytest.mark.parametrize("pipelined", [False, True])
async def test_rows_by_their_columns_names_are_the_same_within_a_pipeline_and_outside(pipelined: bool) -> None:
    given = {"a": "x", "b": 5, "more": "not in the text"}
    expected = [{"a": "x", "b": 5, "again": "x%", "nothing": None}]
    async with transactions.borrowed() as connection:
        for _ in range(2):
            if pipelined:
                async with connection.pipeline():
                    assert await rows.dicts(connection, _SAID, given) == expected
            else:
                assert await rows.dicts(connection, _SAID, given) == expected
        assert await rows.dicts(connection, "SELECT %s::text AS a, %s::text AS b", ["1", "2"]) == [{"a": "1", "b": "2"}]
        await rows.run(connection, "SELECT set_config('toolgate.test', %s, false)", ["said"])
        assert await rows.dicts(connection, "SELECT current_setting('toolgate.test') AS test") == [{"test": "said"}]
        await rows.run(connection, "RESET toolgate.test")


async def test_a_text_is_prepared_at_its_first_use_outside_a_pipeline() -> None:
    async with transactions.borrowed() as connection:
        before = len(connection.prepared)
        for _ in range(3):
            await rows.dicts(connection, "SELECT %s::int8 AS once_prepared", [Int8(1)])
        assert len(connection.prepared) == before + 1
