"""Which parameters of its query a request reads: one that nobody looks at makes no difference."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.core.handlers import asgi
from django.http import HttpRequest, QueryDict

_OF_ONE = ("__getitem__", "__contains__", "get", "getlist")
# A reader of more than one name, or of whether there is any, comes through one of these.
_OF_ALL = (
    *("__iter__", "__len__", "__eq__", "__ne__", "__or__", "__ror__", "__reversed__", "__repr__", "__reduce_ex__"),
    *("__copy__", "__deepcopy__", "__getstate__", "keys", "values", "items", "lists", "dict", "copy", "urlencode"),
    *("pop", "popitem", "setdefault"),
)


class Reads:
    """The names that were read; `whole` when any may have been."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.whole = False
        # What answers without a request of Django's reads its query as it likes.
        self.parsed = False

    def among(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that can make a difference."""
        return [name for name in names if self.whole or not self.parsed or name in self.names]


class _Query(QueryDict):
    reads: Reads | None = None


def _noting(method: str, *, one: bool) -> Any:
    usual = getattr(QueryDict, method)

    def read(self: _Query, *args: Any, **options: Any) -> Any:
        if self.reads is not None and one:
            self.reads.names.add(args[0] if args else options["key"])
        elif self.reads is not None:
            self.reads.whole = True
        return usual(self, *args, **options)

    return read


for _method in _OF_ONE + _OF_ALL:
    setattr(_Query, _method, _noting(_method, one=_method in _OF_ONE))


@contextmanager
def noted() -> Iterator[Reads]:
    """What the requests inside read of their queries."""
    reads = Reads()
    path = HttpRequest._get_full_path  # type: ignore[attr-defined]

    def parse(*args: Any, **options: Any) -> QueryDict:
        query = _Query(*args, **options)
        query.reads, reads.parsed = reads, True
        return query

    def full_path(self: HttpRequest, *args: Any) -> Any:
        reads.whole = True
        return path(self, *args)

    with patch.object(asgi, "QueryDict", parse), patch.object(HttpRequest, "_get_full_path", full_path):
        yield reads
