"""Signed notes (C2SP signed-note, Ed25519) and the checkpoints that they carry (C2SP tlog-checkpoint).

BadNote
├── BadKey          a key's text is malformed
├── BadSignature    a known key's signature does not fit
└── BadCheckpoint   the text is no checkpoint
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.log.merkle import HASH_SIZE

_ED25519 = b"\x01"
_MOST_SIGNATURES = 100
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")


class BadNote(ValueError):
    """The note is malformed, or no known key has signed it."""


class BadKey(BadNote):
    """The text is no key of this kind."""


class BadSignature(BadNote):
    """A known key's signature does not fit the text."""


class BadCheckpoint(BadNote):
    """The note's text is no checkpoint."""


@dataclass(frozen=True)
class Verifier:
    """A public key under a name; as text `name+id+key`, the "vkey"."""

    name: str
    public: bytes

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The key of a vkey; raises BadKey."""
        name, _, rest = text.partition("+")
        identifier, _, key = rest.partition("+")
        verifier = cls(_name(name), _key(key))
        if identifier != verifier.identifier.hex():
            raise BadKey("the key's id does not fit its name and bytes")
        return verifier

    def to_text(self) -> str:
        """The vkey."""
        return f"{self.name}+{self.identifier.hex()}+{_base64(_ED25519 + self.public)}"

    @property
    def identifier(self) -> bytes:
        """The 4 bytes that signatures name the key by."""
        return hashlib.sha256(self.name.encode() + b"\n" + _ED25519 + self.public).digest()[:4]

    def verify(self, text: bytes, signature: bytes) -> bool:
        """Whether it is this key's signature of the text."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text)
        except InvalidSignature:
            return False
        return True


class Signer:
    """A private key under a name; as text `PRIVATE+KEY+name+id+key`."""

    def __init__(self, name: str, seed: bytes) -> None:
        self._seed = seed
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.verifier = Verifier(_name(name), self._private.public_key().public_bytes_raw())

    @classmethod
    def generate(cls, name: str) -> Self:
        """A new key."""
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The key that `to_text` wrote; raises BadKey, which does not quote it."""
        if not text.startswith("PRIVATE+KEY+"):
            raise BadKey("a private key begins with PRIVATE+KEY+")
        name, _, rest = text.removeprefix("PRIVATE+KEY+").partition("+")
        identifier, _, key = rest.partition("+")
        signer = cls(_name(name), _key(key))
        if identifier != signer.verifier.identifier.hex():
            raise BadKey("the key's id does not fit its name and bytes")
        return signer

    def to_text(self) -> str:
        """The key as text; it is secret."""
        verifier = self.verifier
        return f"PRIVATE+KEY+{verifier.name}+{verifier.identifier.hex()}+{_base64(_ED25519 + self._seed)}"

    def signature(self, text: bytes) -> str:
        """The line that goes below a note."""
        signature = self.verifier.identifier + self._private.sign(text)
        return f"— {self.verifier.name} {_base64(signature)}\n"


def sign(text: str, *signers: Signer) -> str:
    """The text as a note, signed by each; raises BadNote when it is no text of a note."""
    _check_text(text)
    return text + "\n" + "".join(signer.signature(text.encode()) for signer in signers)


def open_note(note: str, verifiers: Iterable[Verifier]) -> str:
    """The text of a note that at least one of the keys has signed, each of them rightly; raises BadNote.

    Signatures of other keys are ignored.
    """
    text, blank, signatures = note.rpartition("\n\n")
    text += "\n"
    lines = signatures.split("\n")
    if not blank or lines.pop() or not 0 < len(lines) <= _MOST_SIGNATURES:
        raise BadNote("the note is malformed")
    _check_text(text)
    known = {(verifier.name, verifier.identifier): verifier for verifier in verifiers}
    signed = False
    for line in lines:
        dash, name, encoded = (*line.split(" "), "", "")[:3]
        signature = _decoded(encoded)
        if dash != "—" or line.count(" ") != 2 or signature is None or len(signature) < 5:
            raise BadNote("a signature line is malformed")
        _name(name)
        verifier = known.get((name, signature[:4]))
        if verifier is None:
            continue
        if not verifier.verify(text.encode(), signature[4:]):
            raise BadSignature(f"the signature of {verifier.to_text()} does not fit")
        signed = True
    if not signed:
        raise BadNote("no known key has signed the note")
    return text


@dataclass(frozen=True)
class Checkpoint:
    """The head of a log: its origin, how many leaves it has, and the root over them."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The text of the note."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The checkpoint in a note's text, whatever extension lines it has; raises BadCheckpoint."""
        lines = text.split("\n")
        if len(lines) < 4 or lines.pop() or not all(lines):
            raise BadCheckpoint("a checkpoint has at least three lines, none of them empty")
        root = _decoded(lines[2])
        if not _DECIMAL.fullmatch(lines[1]) or root is None or len(root) != HASH_SIZE:
            raise BadCheckpoint("a checkpoint's lines are its origin, size and root")
        return cls(lines[0], int(lines[1]), root)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadNote("a note is UTF-8") from None
    if len(text) < 2 or not text.endswith("\n") or any(each < " " and each != "\n" for each in text):
        raise BadNote("a note's text ends in a newline and has no other control characters")


def _name(name: str) -> str:
    if not name or "+" in name or any(each.isspace() or each < " " for each in name):
        raise BadKey("a key's name is not empty and has neither spaces nor a plus")
    return name


def _key(encoded: str) -> bytes:
    key = _decoded(encoded)
    if key is None or len(key) != 33 or not key.startswith(_ED25519):
        raise BadKey("the key is not 32 bytes of Ed25519")
    return key[1:]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(encoded: str) -> bytes | None:
    """The bytes of standard base64, None when it is anything else, other spellings of the same bytes included."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _base64(data) == encoded else None
