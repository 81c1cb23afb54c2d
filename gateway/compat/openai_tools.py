"""What the tools of OpenAI's APIs have in common: how many there may be, and their names."""

from gateway.compat.openai_fields import Fields, WrongValue

MAX_TOOLS = 1_000
# OpenAI itself takes 64 letters, digits, _ and -; a provider gets an alias of any other name.
MAX_NAME_CHARACTERS = 200


def new_name(tool: Fields, seen: set[str]) -> str:
    """The tool's name, noted in `seen`; raises WrongValue for one that another tool of the request has."""
    name = tool.need_text("name", MAX_NAME_CHARACTERS)
    if not name.isprintable():
        raise WrongValue(tool.place("name"), "it must be printable.")
    if name in seen:
        raise WrongValue(tool.place("name"), f"another tool has the name {name[:100]!r} too.")
    seen.add(name)
    return name
