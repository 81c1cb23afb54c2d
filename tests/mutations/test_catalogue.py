"""Every mutation fits the code, and names tests that exist: `python -m tests.mutations` would say so much later."""

import os
from pathlib import Path

import psycopg
import pytest

from tests.mutations.catalogue import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_one_place_of_the_code_or_database(mutation: Mutation) -> None:
    assert mutation.file or mutation.sql
    if mutation.file:
        assert (ROOT / mutation.file).read_text().count(mutation.old) == 1
        assert mutation.old != mutation.new
    if mutation.sql.startswith("DO "):
        # What else there is would lock tables that other processes use.
        with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
            connection.execute(mutation.sql.encode())
            connection.rollback()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_names_tests_that_exist(mutation: Mutation) -> None:
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file()
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text()
