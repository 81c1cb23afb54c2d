"""New ids, made without what `uuid.UUID` does to read one."""

import copy
import pickle
import uuid
from collections.abc import Callable

import pytest

from audit.identifiers import uuid4, uuid7


@pytest.mark.parametrize(("make", "version"), [(uuid4, 4), (uuid7, 7)])
def test_a_new_id_is_one_like_any_other(make: Callable[[], uuid.UUID], version: int) -> None:
    made = [make() for _ in range(1000)]
    assert len(set(made)) == 1000
    for each in made:
        same = uuid.UUID(str(each))
        assert (each.version, each.variant) == (version, uuid.RFC_4122)
        assert each == same and hash(each) == hash(same) and each.bytes == same.bytes
        assert each.is_safe is same.is_safe
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made
    assert type(made[0]) is uuid.UUID


def test_every_bit_of_a_random_id_but_its_version_and_variant_is_random() -> None:
    made = [uuid4().int for _ in range(1000)]
    ever = never = made[0]
    for each in made:
        ever, never = ever | each, never & each
    fixed = 0xF << 76 | 0b11 << 62
    assert ever == (1 << 128) - 1 - (0xB << 76) - (0b01 << 62)
    assert never == 0x4 << 76 | 0b10 << 62
    assert (ever ^ never) & fixed == 0
