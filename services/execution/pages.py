"""The next page of an answer, where its header Link names one (RFC 8288): a model is told of it, nobody goes there.

An output with a next page is `{"next": …, "result": …}`. `next` comes first, where nothing is cut:

    {"arguments": {"state": "open", "page": 2}}    the arguments of another call of the same tool
    {"note": "There is a next page …"}             where none lead to it
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from yarl import URL

from services.execution.elsewhere import same_origin
from services.offers.placing import Http
from tools.schemas import schema as schemas

_MOST_FIELDS = 200
_VALUE = r"""(?:"[^"]{0,400}"|[^\s",;]{0,400})"""
_LINK = re.compile(rf"<([^<>]{{0,4096}})>((?:[ \t]*;[ \t]*[\w*-]{{1,40}}(?:[ \t]*=[ \t]*{_VALUE})?)*)")
_SAID = re.compile(rf";[ \t]*([\w*-]{{1,40}})(?:[ \t]*=[ \t]*({_VALUE}))?")
_NO_ARGUMENTS = "There is a next page, and no arguments of this tool lead to it."
_ELSEWHERE = "There is a next page at another host, which is not asked."


def with_next(
    found: Any, link: str, *, sent: str, http: Http, parameters: dict[str, Any], given: Mapping[str, Any]
) -> Any:
    """The output, with its next page where the header `link` names one.

    `sent` is the URL that was asked, `given` are the arguments that it was made of, held to `parameters`.
    """
    target = _target(link) if link and http.method == "GET" else None
    if target is None:
        return found
    return {"next": _next(target, sent, http, parameters, given), "result": found}


def _target(link: str) -> str | None:
    """Where the first link of the relation next leads."""
    for target, said in _LINK.findall(link):
        rel = next((value for name, value in _SAID.findall(said) if name.lower() == "rel"), "")
        if "next" in rel.strip('"').lower().split():
            return str(target)
    return None


def _next(target: str, sent: str, http: Http, parameters: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        url = str(URL(sent, encoded=True).join(URL(target, encoded=True)))
        if not same_origin(url, sent):
            return {"note": _ELSEWHERE}
        then, now = _query(url), _query(sent)
    except ValueError:
        return {"note": _NO_ARGUMENTS}
    # Some servers write the path of a next page in another way; what changes in the query is what counts.
    changed = [called for called in {**now, **then} if now.get(called) != then.get(called)]
    made = _changed(changed, then, http, parameters, given)
    if made is None or made == given or schemas.check(parameters, made) is not None:
        return {"note": _NO_ARGUMENTS}
    return {"arguments": made}


def _query(url: str) -> dict[str, list[str]]:
    return parse_qs(url.partition("?")[2].partition("#")[0], keep_blank_values=True, max_num_fields=_MOST_FIELDS)


def _changed(
    changed: list[str], then: dict[str, list[str]], http: Http, parameters: dict[str, Any], given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The arguments with what the next page has instead; None where it has what is no argument."""
    properties = parameters.get("properties", {})
    names = {http.place(name)[1]: name for name in properties if _is_plain(http, name)}
    made = dict(given)
    for called in changed:
        name = names.get(called)
        if name is None and called in then:
            return None
        if name is not None:
            made.pop(name, None)
        if name is not None and called in then:
            made[name] = _typed(then[called], properties[name])
    return made


def _is_plain(http: Http, name: str) -> bool:
    """Whether an argument is in the query by its own name alone."""
    return http.place(name)[0] == "query" and http.style(name) in ("", "repeat")


def _typed(values: list[str], schema: Any) -> Any:
    """What stands in a query as the argument that its schema says; the schema decides whether it is."""
    said = schema.get("type") if isinstance(schema, dict) else None
    types = {said} if isinstance(said, str) else set(said) if isinstance(said, list) else set()
    if "array" in types or len(values) > 1:
        items = schema.get("items") if isinstance(schema, dict) else None
        return [_typed([each], items) for each in values]
    [text] = values
    if "string" in types or not types:
        return text
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    if "integer" in types and re.fullmatch(r"-?[0-9]{1,15}", text):
        return int(text)
    if "number" in types and re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", text):
        return float(text)
    return text
