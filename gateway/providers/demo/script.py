"""The demo model's script: a message that says itself which calls to suggest, turn by turn."""

_CALL = "call:"
_THEN = "then:"
_ANSWER = "answer:"

Turns = list[list[tuple[str, str]]]


def turns(message: str) -> Turns:
    """For each turn the tool names and raw argument texts that `message` spells out; empty when it is no script."""
    result: Turns = [[]]
    # Only a line feed ends a line: splitlines() would also cut arguments at characters that JSON allows.
    for line in message.split("\n"):
        line = line.removesuffix("\r")
        if line.startswith(_CALL):
            name, _, arguments = line.removeprefix(_CALL).lstrip(" ").partition(" ")
            result[-1].append((name, arguments or "{}"))
        elif line.strip() == _THEN:
            result.append([])
    return [turn for turn in result if turn]


def answer(message: str) -> str | None:
    """What `message` spells out as the model's answer once its calls have ended; None when it spells out none."""
    lines = (line.removesuffix("\r") for line in message.split("\n"))
    return next((line.removeprefix(_ANSWER).strip() for line in lines if line.startswith(_ANSWER)), None)
