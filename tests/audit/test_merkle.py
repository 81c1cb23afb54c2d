"""The Merkle tree against RFC 6962's published figures, and every proof of every small tree."""

import random
from collections.abc import Iterator

import pytest

from audit.log import merkle, tiles
from tests.audit import proofs

# The leaves, roots and proofs that Certificate Transparency's implementations are tested with.
LEAVES = [bytes.fromhex(text) for text in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
ROOTS = [bytes.fromhex(text) for text in (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)]  # fmt: skip
INCLUSIONS = {
    (0, 1): [],
    (0, 8): ["96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
             "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"],
    (5, 8): ["bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
             "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
             "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): ["6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
             "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"],
}  # fmt: skip
CONSISTENCIES = {
    (1, 1): [],
    (1, 8): ["96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
             "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"],
    (6, 8): ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
             "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
             "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
    (2, 5): ["5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
             "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"],
    (6, 7): ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
             "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
             "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
}  # fmt: skip
HASHES = [merkle.leaf_hash(leaf) for leaf in LEAVES]
SMALL = 300
MANY = [merkle.leaf_hash(number.to_bytes(4, "big")) for number in range(SMALL)]


def _by_the_book(hashes: list[bytes]) -> bytes:
    """MTH as RFC 6962, 2.1, defines it."""
    if len(hashes) < 2:
        return hashes[0] if hashes else merkle.EMPTY_ROOT
    left = 1
    while left * 2 < len(hashes):
        left *= 2
    return merkle.node_hash(_by_the_book(hashes[:left]), _by_the_book(hashes[left:]))


def _changed(proof: list[bytes]) -> Iterator[list[bytes]]:
    """The proof with one bit of each hash flipped, and shortened, lengthened and turned around."""
    for place, each in enumerate(proof):
        bit = random.Random(place).randrange(256)
        flipped = (int.from_bytes(each, "big") ^ 1 << bit).to_bytes(32, "big")
        yield [*proof[:place], flipped, *proof[place + 1 :]]
        yield [*proof[:place], *proof[place + 1 :]]
    yield [*proof, merkle.EMPTY_ROOT]
    yield [merkle.EMPTY_ROOT, *proof]
    yield [*proof, b""]
    if len(proof) > 1:
        yield proof[::-1]


@pytest.mark.parametrize("size", range(9))
def test_the_published_roots_come_out(size: int) -> None:
    assert merkle.root(HASHES[:size]) == ROOTS[size]
    assert tiles.root_of(size, {(0, 0): b"".join(HASHES[:size])}) == ROOTS[size]


@pytest.mark.parametrize(("index", "size"), INCLUSIONS)
def test_the_published_inclusion_proofs_are_made_and_accepted(index: int, size: int) -> None:
    proof = [bytes.fromhex(text) for text in INCLUSIONS[index, size]]
    assert proofs.inclusion_proof(index, size, {(0, 0): b"".join(HASHES)}) == proof
    assert proofs.verify_inclusion(HASHES[index], index, size, proof, ROOTS[size])
    for other in (index - 1, index + 1, index ^ 2):
        assert not proofs.verify_inclusion(HASHES[index], other, size, proof, ROOTS[size])


@pytest.mark.parametrize(("old", "new"), CONSISTENCIES)
def test_the_published_consistency_proofs_are_made_and_accepted(old: int, new: int) -> None:
    proof = [bytes.fromhex(text) for text in CONSISTENCIES[old, new]]
    assert proofs.consistency_proof(old, new, {(0, 0): b"".join(HASHES)}) == proof
    assert proofs.verify_consistency(old, ROOTS[old], new, ROOTS[new], proof)


def test_a_tree_that_grows_has_the_roots_of_the_definition() -> None:
    frontier = merkle.Frontier()
    for size in range(SMALL):
        assert (frontier.size, frontier.root()) == (size, _by_the_book(MANY[:size]))
        assert frontier.root() == merkle.root(MANY[:size])
        frontier.append(MANY[size])


def test_every_inclusion_proof_of_every_small_tree_fits_and_no_changed_one_does() -> None:
    stored = tiles.grown(0, MANY, {})
    for size in range(1, SMALL):
        root = merkle.root(MANY[:size])
        for index in range(size):
            proof = proofs.inclusion_proof(index, size, stored)
            assert proofs.verify_inclusion(MANY[index], index, size, proof, root)
            assert not proofs.verify_inclusion(MANY[index - 1], index, size, proof, root) or size == 1
            # What is changed is tried on a part: each try costs as much as the proof.
            if (index * 31 + size) % 23 == 0:
                for changed in _changed(proof):
                    assert not proofs.verify_inclusion(MANY[index], index, size, changed, root)
                assert not proofs.verify_inclusion(MANY[index], size, size, proof, root)
                assert not proofs.verify_inclusion(MANY[index], index, size, proof, MANY[0]) or size == 1


def test_every_consistency_proof_of_every_small_tree_fits_and_no_changed_one_does() -> None:
    stored = tiles.grown(0, MANY, {})
    roots = [merkle.root(MANY[:size]) for size in range(SMALL)]
    for new in range(SMALL):
        for old in range(new + 1):
            proof = proofs.consistency_proof(old, new, stored)
            assert proofs.verify_consistency(old, roots[old], new, roots[new], proof)
            if 0 < old < new and (old * 31 + new) % 23 == 0:
                for changed in _changed(proof):
                    assert not proofs.verify_consistency(old, roots[old], new, roots[new], changed)
                assert not proofs.verify_consistency(old, roots[new], new, roots[old], proof)
                assert not proofs.verify_consistency(old + 1, roots[old], new, roots[new], proof)


def test_no_proof_is_accepted_for_what_is_no_tree() -> None:
    one = HASHES[0]
    for index, size in ((0, 0), (1, 1), (-1, 1), (2, 1)):
        assert not proofs.verify_inclusion(one, index, size, [], one)
    assert not proofs.verify_inclusion(b"", 0, 1, [], b"")
    for old, new in ((2, 1), (-1, 1), (1, 2)):
        assert not proofs.verify_consistency(old, one, new, one, [])
    assert not proofs.verify_consistency(0, one, 1, one, [])
    assert not proofs.verify_consistency(1, one, 1, HASHES[1], [])
