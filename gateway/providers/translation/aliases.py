"""How names that a provider refuses get others, which lead back to them: the names of tools and of their arguments."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable


def distinct(
    refused: Iterable[str], names: set[str], readable: Callable[[str], str], marked: Callable[[str, int], str]
) -> dict[str, str]:
    """An alias for each refused name, which is no other's and none of `names`: `readable` of it, where only it wants
    that one, else `marked` with so many digits of a hash."""
    wanted = {name: readable(name) for name in refused}
    times = Counter(wanted.values())
    taken = names | set(wanted.values())
    aliases = {}
    for name, alias in wanted.items():
        # Names that want the same alias all get another, so that none depends on their order.
        if not alias or times[alias] > 1 or alias in names:
            alias = next(each for each in (marked(name, digits) for digits in (8, 16, 32, 48)) if each not in taken)
        taken.add(alias)
        aliases[name] = alias
    return aliases


def cut_and_marked(name: str, readable: str, digits: int, longest: int) -> str:
    """The readable text, cut to leave room for digits of the name's hash at its end."""
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    return f"{readable[: longest - digits - 1]}_{mark}"
