"""Checks a Toolgate receipt, or an export, with nothing but a public key that you got from somewhere else.

    python3 verify.py receipt.json --public-key 'toolgate/1f2e3d4c+0a1b2c3d+AaBb…'
    python3 verify.py export.jsonl --public-key '…'

Python 3.9 or newer and this file are all it takes. It says what is proven and what is not, and exits 0 when nothing is
wrong. The log is an RFC 6962 Merkle tree; its heads are C2SP checkpoints, signed with Ed25519 (RFC 8032).
"""

import argparse
import base64
import hashlib
import hmac
import json
import sys


class Wrong(Exception):
    """What was given is not what it says."""


# Ed25519: points are (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    """The sum of two points."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return (f - e) * (h - g) % P, (h + g) * (f + e) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P


def times(count, point):
    """A multiple of a point."""
    total = (0, 1, 1, 0)
    while count:
        total, point, count = add(total, point) if count & 1 else total, add(point, point), count >> 1
    return total


def point_of(encoded):
    """The point that 32 bytes stand for; None when they stand for none."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(public, message, signature):
    """Whether 64 bytes are the key's signature of a message."""
    key, commitment = point_of(public), point_of(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or key is None or commitment is None or scalar >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    left, right = times(scalar, BASE), add(commitment, times(challenge, key))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def key_of(vkey):
    """The name, id and bytes of a public key `name+id+base64`."""
    name, _, rest = vkey.partition("+")
    identifier, _, encoded = rest.partition("+")
    key = base64.b64decode(encoded, validate=True)
    digest = hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
    if len(key) != 33 or key[0] != 1 or digest.hex() != identifier:
        raise Wrong(f"{vkey!r} is no public key")
    return name, digest, key[1:]


def opened(note, vkeys):
    """The text of a note that one of the keys has signed."""
    text, blank, signatures = note.rpartition("\n\n")
    text += "\n"
    for line in signatures.splitlines() if blank else []:
        _, signer, encoded = line.split(" ")
        blob = base64.b64decode(encoded, validate=True)
        for name, identifier, public in map(key_of, vkeys):
            if (name, identifier) == (signer, blob[:4]) and is_signed(public, text.encode(), blob[4:]):
                return text
    raise Wrong("no key that you trust has signed it")


def trusted_through(vkeys, listed):
    """Your keys, and those that one of them endorsed as its successor, one after another."""
    known = list(vkeys)
    for key in listed:
        try:
            said = opened(key["endorsement"] or "", known).split("\n")
        except Wrong:
            continue
        if said[0] == "toolgate key rotation" and said[1] == key["vkey"]:
            known.append(key["vkey"])
    return known


def head_of(note, vkeys):
    """The size and the root of a signed head, and whose it is."""
    origin, size, root = opened(note, vkeys).split("\n")[:3]
    opened(note, [each for each in vkeys if each.startswith(origin + "+")])
    return int(size), base64.b64decode(root, validate=True), origin


def in_log(leaf, proof, size, root):
    """The leaf as JSON, once it is proven to be in the log at its place (RFC 9162, 2.1.3.2)."""
    found = json.loads(leaf)
    index, last, node = found["index"], size - 1, hashlib.sha256(b"\0" + leaf.encode()).digest()
    right = 0 <= index < size
    for sibling in map(bytes.fromhex, proof):
        right = right and last > 0
        if index & 1 or index == last:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while index & 1 == 0 and index > 0:
                index, last = index >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        index, last = index >> 1, last >> 1
    if not right or last != 0 or node != root:
        raise Wrong(f"leaf {found['index']} is not in the log that was signed")
    return found


def stated(leaf, key, statement):
    """What an entry states, once it is proven that its leaf commits to it."""
    if hmac.new(bytes.fromhex(key), statement.encode(), hashlib.sha256).hexdigest() != leaf["commitment"]:
        raise Wrong(f"leaf {leaf['index']} commits to another statement")
    said = json.loads(statement)
    by_id = said["id"] if leaf["call_id"] else None
    about = said["call_id"] if leaf["kind"] in ("decided", "answered", "erased") else by_id
    if (said["kind"], said["version"], about) != (leaf["kind"], leaf["version"], leaf["call_id"]):
        raise Wrong(f"leaf {leaf['index']} and its statement are about different things")
    return said


def number(value):
    """A double as ECMAScript writes it."""
    if value == 0 or value - value != 0:
        return "0" if value == 0 else "no JSON number"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        text = digits[:point].ljust(point, "0") + ("." + digits[point:] if digits[point:] else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1:+d}"
    return "-" * (value < 0) + text


def canonical(value):
    """A JSON value's one form; its numbers are doubles."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(float(value))
    return json.dumps(value, ensure_ascii=False)


KINDS = ("proposed", "settled", "decided", "answered")
FIELDS = ("call_id", "tool", "origin", "status", "params_hash", "output_hash", "decision", "resumed_decision")
THEIRS = {"call_id": "id", "tool": "tool_name", "latency_ms": "execution_time_ms"}
SAID = ("user_id", "verdict", "reason", "via")
ANSWERED = ("id", "round", "position", "status", "action", "question_hash", "content_hash", "via")
HASHES = {"input": "params_hash", "approved_input": "approved_params_hash", "output": "output_hash"}
HASHES["input_raw"] = "input_raw_hash"


def check_receipt(receipt, vkeys):
    """Yields what is proven of a receipt; raises Wrong."""
    proof = receipt["inclusion_proof"]
    if proof is None:
        raise Wrong("the receipt is not sealed yet, so nothing is proven: fetch it again in a few seconds")
    size, root, origin = head_of(proof["checkpoint"], trusted_through(vkeys, proof.get("keys", [])))
    yield f"proven: a key that you trust has signed the log {origin} of {size} entries"
    proven = {each["leaf"]: in_log(each["leaf"], each["hashes"], size, root) for each in proof["proofs"]}
    for entry in receipt["entries"]:
        leaf = proven.get(entry["leaf"])
        if leaf is None or (leaf["kind"], leaf["call_id"]) != (entry["kind"], receipt["call_id"]):
            raise Wrong(f"the {entry['kind']} entry comes without a proof of its own")
    yield f"proven: its {len(proven)} entries are in that log, at {[leaf['index'] for leaf in proven.values()]}"
    key = receipt["commitment_key"]
    if key is None:
        if not any(leaf["kind"] == "erased" for leaf in proven.values()):
            raise Wrong("nothing is left of what the entries state, and no entry says that it was erased")
        yield "proven: the call was erased"
        yield "not proven: what its entries stated, and so nothing else of the receipt; that cannot be shown any more"
        return
    said = [stated(proven[entry["leaf"]], key, entry["statement"]) for entry in receipt["entries"]]
    proposed, settled, decided, answered = ([each for each in said if each["kind"] == kind] for kind in KINDS)
    if (len(proposed), len(settled)) != (1, int(receipt["status"] in ("success", "error"))):
        raise Wrong("a call is proposed once, and settled once when it is final")
    whole = {**(settled or [{}])[0], **proposed[0]}
    names = [name for name in (*FIELDS, "side_effects", "latency_ms") if THEIRS.get(name, name) in whole]
    for name in names:
        if canonical(receipt[name]) != canonical(whole[THEIRS.get(name, name)]):
            raise Wrong(f"{name} is not what was committed to")
    shown = (receipt["approval"] or {"decisions": []})["decisions"]
    words, sworn = (sorted(canonical([each[name] for name in SAID]) for each in every) for every in (shown, decided))
    if words != sworn:
        raise Wrong("the decisions are not what was committed to")
    every = (receipt.get("answers", []), answered)
    words, sworn = (sorted(canonical([each[name] for name in ANSWERED]) for each in some) for some in every)
    if words != sworn:
        raise Wrong("the answers are not what was committed to")
    yield f"proven: {', '.join(names)} and approval are what was committed to"
    yield from check_values(receipt, whole)
    yield "not proven: names of people; that nobody decided more than is shown"
    yield "not proven: that everybody was shown the same log (compare heads with others)"


def check_values(shown, said):
    """Yields which arguments and results, where they are shown, are what the hashes are of."""
    for name, theirs in HASHES.items():
        value = shown.get(name)
        cut = name == "output" and isinstance(value, dict) and value.get("truncated") is True
        wanted = (said.get("output_kept_hash") if cut else None) or said.get(theirs)
        text = value if name == "input_raw" else canonical(value)
        if cut and said["version"] < 3:
            yield "not proven: the output, which is cut; entries before version 3 have only the hash of the whole"
        elif value is not None and wanted is None:
            raise Wrong(f"{name} is shown, and nothing was committed to")
        elif name in shown and wanted is not None:
            if text is None or hashlib.sha256(text.encode()).hexdigest() != wanted:
                raise Wrong(f"{name} is not what {theirs} is the hash of")
            yield f"proven: {name}"


def check_export(lines, vkeys):
    """Yields what is proven of an export; raises Wrong."""
    header = json.loads(next(lines), parse_int=float)
    size, root, origin = head_of(header["checkpoint"], trusted_through(vkeys, header["keys"]))
    yield f"proven: a key that you trust has signed the log {origin} of {size} entries"
    first = place = int(header["first"])
    entries, hidden, erased, months, unproven, trailer = 0, {}, set(), [], set(), None
    for line in lines:
        if trailer is not None:
            raise Wrong("something comes after the end")
        each = json.loads(line)
        if "leaf" not in each:
            trailer = each
            continue
        leaf = in_log(each["leaf"], each["proof"], size, root)
        if leaf["tenant_id"] != header["tenant_id"] or leaf["tenant_index"] != place:
            raise Wrong(f"entry {place} of the tenant is missing, or is another's")
        place, entries = place + 1, entries + 1
        if leaf["kind"] == "erased":
            erased.add(leaf["call_id"])
        if each["statement"] is None:
            hidden[leaf["call_id"]] = hidden.get(leaf["call_id"], 0) + 1
            continue
        said = stated(leaf, each["key"], each["statement"])
        if leaf["kind"] == "dropped":
            months.append((said["low"], said["high"]))
        unproven.update(line for line in check_values(each, said) if line.startswith("not"))
    if trailer is None or trailer["entries"] != entries or place != header["end"]:
        raise Wrong("the export was cut off")
    yield f"proven: the tenant's entries {first} to {place - 1} are all here, and in that log"
    gone = sum(
        count for call, count in hidden.items() if call in erased or any(a <= (call or "") < b for a, b in months)
    )
    yield f"proven: what {entries - sum(hidden.values())} of them state, with arguments and results"
    yield f"proven: {gone} more are of calls that were erased, or dropped with their month"
    yield f"not proven: what the other {sum(hidden.values()) - gone} state; it is not shown"
    yield from unproven
    yield "not proven: what came before and after; that everybody was shown the same log (compare heads with others)"


def main():
    """Check a file; the exit code."""
    parser = argparse.ArgumentParser(description="Checks a Toolgate receipt, or an export.")
    parser.add_argument("file", help="a receipt (.json), or an export (.jsonl)")
    parser.add_argument("--public-key", action="append", required=True, metavar="VKEY", help="a key that you trust")
    options = parser.parse_args()
    try:
        with open(options.file, encoding="utf-8") as file:
            is_export = file.read(200).startswith('{"toolgate_export"')
            file.seek(0)
            check, given = (check_export, file) if is_export else (check_receipt, json.load(file))
            for line in check(given, options.public_key):
                sys.stdout.write(line + "\n")
    except (Wrong, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, RuntimeError) as error:
        said = error if isinstance(error, (Wrong, OSError)) else f"it is malformed ({error!r})"
        sys.stdout.write(f"WRONG: {said}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
