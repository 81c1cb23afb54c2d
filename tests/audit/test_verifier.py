"""The parts of docs/verify.py, which has no library to lean on, against those that have one."""

import importlib.util
import random
import struct
from types import ModuleType

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.canonical import canonical
from tests.audit.outsiders import VERIFIER

# RFC 8032, 7.1: public key, message, signature.
VECTORS = [
    ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
     "55141438e7a100b"),
    ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb"
     "00d291612bb0c00"),
    ("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc"
     "027beceea1ec40a"),
]  # fmt: skip


@pytest.fixture(scope="module")
def verifier() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verifier", VERIFIER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("public", "message", "signature"), VECTORS)
def test_signatures_are_those_of_rfc_8032(verifier: ModuleType, public: str, message: str, signature: str) -> None:
    key, text, signed = (bytes.fromhex(each) for each in (public, message, signature))
    assert verifier.is_signed(key, text, signed)
    assert not verifier.is_signed(key, text + b"x", signed)
    assert not verifier.is_signed(key, text, signed[:32] + (int.from_bytes(signed[32:], "little") + verifier.ORDER)
                                  .to_bytes(32, "little"))  # fmt: skip


def test_signatures_fit_and_those_with_a_bit_flipped_do_not(verifier: ModuleType) -> None:
    rng = random.Random(7)
    for _ in range(10):
        private = Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        public, text = private.public_key().public_bytes_raw(), rng.randbytes(rng.randrange(100))
        signature = private.sign(text)
        assert verifier.is_signed(public, text, signature)
        place = rng.randrange(64)
        flipped = signature[:place] + bytes([signature[place] ^ 1 << rng.randrange(8)]) + signature[place + 1 :]
        assert not verifier.is_signed(public, text, flipped)
    assert not verifier.is_signed(public, text, signature[:63])
    assert not verifier.is_signed(b"\xff" * 32, text, signature)


def test_numbers_are_written_as_rfc_8785_says(verifier: ModuleType) -> None:
    rng = random.Random(8)
    some = [0.0, -0.0, 1.0, 1e21, 1e20, 123456789012345680000.0, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308, 0.1, -1.5]
    some += [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(20_000)]
    some += [rng.randrange(10**6) / 10 ** rng.randrange(12) for _ in range(5_000)]
    for value in some:
        if value - value == 0:
            assert verifier.canonical(value) == canonical(value).decode()


def test_other_values_are_too(verifier: ModuleType) -> None:
    value = {"𝒳": 1, "é": [True, False, None, 3, 2**53 - 1], "\ufb33": '\u0000\x1f\x7f"\\/\n', "a": {"b": {}}, "": []}
    assert verifier.canonical(value) == canonical(value).decode()
