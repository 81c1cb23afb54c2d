"""Signed notes and checkpoints against what their specifications and Go's own tests publish."""

import pytest

from audit.log.notes import BadCheckpoint, BadKey, BadNote, BadSignature, Checkpoint, Signer, Verifier, open_note, sign

# From golang.org/x/mod/sumdb/note.
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER_SIGNED = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
ENOCH_SIGNED = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)
BOTH = f"{TEXT}\n{PETER_SIGNED}{ENOCH_SIGNED}"
# From C2SP's tlog-checkpoint.
SOFA = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"


def _verifiers(*texts: str) -> list[Verifier]:
    return [Verifier.from_text(text) for text in texts]


def test_the_published_note_is_signed_and_opened() -> None:
    signer = Signer.from_text(PETER_PRIVATE)
    assert signer.verifier.to_text() == PETER
    assert signer.to_text() == PETER_PRIVATE
    assert sign(TEXT, signer) == f"{TEXT}\n{PETER_SIGNED}"
    assert open_note(BOTH, _verifiers(PETER)) == TEXT
    assert open_note(BOTH, _verifiers(ENOCH)) == TEXT
    assert open_note(BOTH, _verifiers(PETER, ENOCH)) == TEXT


def test_a_note_that_no_known_key_signed_is_refused() -> None:
    with pytest.raises(BadNote, match="no known key"):
        open_note(BOTH, [])
    stranger = Signer.generate("PeterNeumann")
    with pytest.raises(BadNote, match="no known key"):
        open_note(BOTH, [stranger.verifier])


def test_a_wrong_signature_of_a_known_key_spoils_the_note_for_all() -> None:
    spoiled = BOTH.replace("ABCD", "").replace("x08go/ZJ", "x08go/ZK")
    with pytest.raises(BadSignature):
        open_note(spoiled, _verifiers(PETER, ENOCH))
    assert open_note(spoiled, _verifiers(ENOCH)) == TEXT
    with pytest.raises(BadSignature):
        open_note(BOTH.replace("answer", "Answer"), _verifiers(PETER))


@pytest.mark.parametrize(
    "note",
    ["", TEXT, TEXT + "\n", BOTH[:-1], "\x01" + BOTH, f"{TEXT}\n— Bad Name x08go/ZJkuBS9UG/SffcvIA=\n",
     BOTH + "Unexpected line.\n", f"{TEXT}\n— PeterNeumann \n", f"{TEXT}\n-- PeterNeumann x08go/ZJ\n",
     f"{TEXT}\n— PeterNeumann x08g\n", f"{TEXT}\n— a+b x08go/ZJ\n", "\ud800" + BOTH, "\n" + PETER_SIGNED,
     f"{TEXT}\n{PETER_SIGNED * 101}", f"{TEXT}\n{PETER_SIGNED.replace('=', '')}", f"{TEXT}\n\t{PETER_SIGNED}"],
)  # fmt: skip
def test_a_malformed_note_is_refused(note: str) -> None:
    with pytest.raises(BadNote):
        open_note(note, _verifiers(PETER))


def test_every_mangled_key_is_refused() -> None:
    for text, kind in ((PETER, Verifier), (PETER_PRIVATE, Signer)):
        parts = [text[first:last] for first in range(len(text)) for last in range(first + 1, len(text) + 1)]
        bumped = [text[:place] + chr(ord(text[place]) + 1) + text[place + 1 :] for place in range(len(text))]
        for mangled in (*parts, *bumped):
            if mangled != text:
                with pytest.raises(BadKey) as refused:
                    kind.from_text(mangled)
                assert text[-20:] not in str(refused.value)


@pytest.mark.parametrize("text", ["PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
                                  "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"])  # fmt: skip
def test_a_key_of_another_length_or_kind_is_refused(text: str) -> None:
    with pytest.raises(BadKey):
        Verifier.from_text(text)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u2003b", "a\nb", "a\x01b"])
def test_a_key_has_no_name_that_a_note_cannot_carry(name: str) -> None:
    with pytest.raises(BadKey):
        Signer.generate(name)


@pytest.mark.parametrize("text", ["", "abc", "a\x00\n", "\n", "\ud800\n"])
def test_what_is_no_text_is_not_signed(text: str) -> None:
    with pytest.raises(BadNote):
        sign(text, Signer.generate("x"))


def test_a_new_key_signs_what_only_its_own_public_key_opens() -> None:
    one, other = Signer.generate("toolgate/1"), Signer.generate("toolgate/1")
    note = sign("ä\n\nb\n", one)
    assert open_note(note, [Verifier.from_text(one.verifier.to_text())]) == "ä\n\nb\n"
    assert open_note(sign("x\n", one, other), [one.verifier, other.verifier]) == "x\n"
    with pytest.raises(BadNote):
        open_note(note, [other.verifier])


def test_the_published_checkpoint_is_read_and_written() -> None:
    checkpoint = Checkpoint.parse(SOFA)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20_852_163)
    assert checkpoint.text() == SOFA
    assert Checkpoint.parse(SOFA + "an extension\n") == checkpoint


@pytest.mark.parametrize(
    "text",
    ["", "a\n1\n", SOFA[:-1], SOFA.replace("20852163", "020852163"), SOFA.replace("20852163", "-1"),
     SOFA.replace("20852163", "2e3"), SOFA.replace("20852163", "٣"), SOFA.replace("20852163", ""),
     SOFA.replace("example.com/behind-the-sofa", ""), SOFA.replace("q2I=", "q2I"), SOFA.replace("CsUY", ""),
     SOFA + "\n", SOFA + "x\n\ny\n"],
)  # fmt: skip
def test_a_malformed_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(BadCheckpoint):
        Checkpoint.parse(text)
