"""Inputs that found faults, here or elsewhere."""

import json

DEEP = 300
QUERY_VALUES = {
    "nul": "%00",
    "nul in text": "a%00b",
    "not UTF-8": "%ff%fe",
    "surrogate": "%ed%a0%80",
    "long": "x" * 2000,
    "huge": "9" * 400,
    "negative": "-1",
    "not a number": "NaN",
    "exponent": "1e309",
    "percent": "%25%",
    "quote": "'%22;--",
    "list": "1,2,,",
    "json": "%7B%22a%22:%5B%5D%7D",
    "empty": "",
    "date": "9999-12-31T23:59:59Z",
    "year": "0",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "nil": "null",
    "bidi": "%E2%80%AE",
    "encoded": "cD0lMDA=",
}
PATH_VALUES = {
    "nul": "%00",
    "not UTF-8": "%ff%fe",
    "dots": "..%2f..%2fx",
    "long": "x" * 5000,
    "quote": "'%22;--",
    "newline": "%0d%0a",
    "percent": "%25",
    "huge": "9" * 400,
    "quoted": "_00",
    "half a quote": "_0",
}
_VALUES: dict[str, str] = {
    "null": "null",
    "true": "true",
    "number": "-1",
    "huge": "9" * 400,
    "exponent": "1e309",
    "float": "1e308",
    "text": '"x"',
    "nul": '"\\u0000"',
    "surrogate": '"\\ud800"',
    "long": json.dumps("x" * 100_000),
    "list": "[1, null, {}]",
    "object": '{"a": {"b": []}}',
    "deep list": "[" * DEEP + "]" * DEEP,
    "deep object": '{"a":' * DEEP + "1" + "}" * DEEP,
    "empty": '""',
    "bidi": '"\\u202e"',
}
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "NaN": b'{"content": NaN}',
    "not UTF-8": b'{"content": "\xff\xfe"}',
    "nul": b"\x00",
    "array": b"[]",
    "text": b'"x"',
    "number": b"7",
    "null": b"null",
    "deep": b"[" * 100_000,
    "twice": b'{"content": 1, "content": 2}',
    "deep but whole": b"[" * DEEP + b"]" * DEEP,
    "deepest": b"[" * 1000 + b"]" * 1000,
    "BOM": b"\xef\xbb\xbf{}",
}
KINDS = [
    "application/json",
    "",
    ";;",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "application/json; charset=nonsense",
    "\u00ff",
]


def json_bodies(valid: dict[str, object]) -> dict[str, bytes]:
    """A valid body with each of its fields, and an unknown one, replaced by each odd value."""
    found = dict(BODIES)
    for name in [*valid, "unknown\\u0000", "unknown"]:
        for kind, value in _VALUES.items():
            others = {key: each for key, each in valid.items() if key != name}
            text = json.dumps(others)[:-1] + (", " if others else "") + f'"{name}": {value}' + "}"
            found[f"{name}: {kind}"] = text.encode()
    return found


def forms(names: list[str]) -> dict[str, bytes]:
    """Forms of which every field has the same odd value."""
    return {kind: "&".join(f"{name}={value}" for name in names).encode() for kind, value in QUERY_VALUES.items()}
