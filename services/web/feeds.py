"""The page on which an owner chooses which resources of an MCP server are feeds."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from audit.canonical import sha256_hex
from services import changes
from services.errors import FeedsChanged, InvalidService, NoSuchService
from services.models import Service
from services.offers import descriptor
from services.web.pages import head
from services.web.requests import found_or_404, owner_section, within
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only

# Resources that are shown beside those that are feeds; a search finds the others.
MOST = 50
NAME, TTL = 64, 300


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def feeds(request: SignedInRequest, slug: str) -> HttpResponse:
    """The feeds of an MCP server, and the resources that could be some, of which `q` chooses; a POST changes them."""
    refusal: Refused | None = None
    if request.method == "POST":
        try:
            with within(request):
                owner_section(request)
                _change(slug, request.POST)
            messages.success(request, f"The feeds of {slug} are changed.")
            return redirect("settings-service-feeds", slug)
        except NoSuchService:
            raise Http404 from None
        except Refused as error:
            refusal = error
    with within(request):
        context = owner_section(request)
        found = _of_server(found_or_404(slug))
        # A refused form is shown as it was sent, but for one that somebody else has outrun.
        post = request.POST if refusal is not None and not isinstance(refusal, FeedsChanged) else None
        context |= {**head(found), "tab": "feeds", "refusal": refusal, "most_feeds": descriptor.MAX_FEEDS}
        context |= {"least": descriptor.LEAST_TTL, "most": descriptor.MOST_TTL}
        context |= _shown(found, request.GET.get("q", "")[:200], post)
        return render(request, "settings/services/feeds.html", context, status=refusal.status if refusal else 200)


def _change(slug: str, post: QueryDict) -> None:
    """Make feeds of the chosen resources; raises FeedsChanged, InvalidService and NoSuchService."""
    found = _of_server(changes.found(slug, lock=True))
    if post.get("seen") != _seen(found):
        raise FeedsChanged
    given: dict[str, Any] = {"feeds": [_feed(row) for row in _rows(post) if row["used"]]}
    if not found.in_prompts and "in_prompts" in post:
        given["in_prompts"] = True
    changes.change(slug, given)


def _of_server(found: Service) -> Service:
    """The service, which is an MCP server; the feeds of others are in their descriptor. Raises Http404."""
    if found.kind != Service.Kind.MCP:
        raise Http404
    return found


def _shown(found: Service, words: str, post: QueryDict | None) -> dict[str, Any]:
    """The rows of the form: the feeds, then resources that match the words, as they are or as they were sent."""
    resources = {each["uri"]: each for each in found.mcp.get("resources") or ()}
    if post is not None:
        listed, more = _rows(post), False
    else:
        listed = [{**each, "used": True} for each in found.feeds]
        feeding = {each["uri"] for each in found.feeds}
        others = [each for each in resources.values() if each["uri"] not in feeding and _matches(each, words)]
        more = len(others) > MOST
        listed += [_new(each) for each in others[:MOST]]
    return {
        "rows": [each | _about(resources.get(each["uri"], {}), each["uri"]) for each in listed],
        "q": words,
        "more": more,
        "searchable": len(resources) > MOST // 4 or bool(words),
        "seen": _seen(found),
        "in_prompts_chosen": post is not None and "in_prompts" in post,
    }


def _about(resource: dict[str, Any], uri: str) -> dict[str, str]:
    """What the server says of a resource."""
    return {
        "title": resource.get("title") or resource.get("name") or uri,
        "description": str(resource.get("description", "")),
    }


def _new(resource: dict[str, Any]) -> dict[str, Any]:
    """The row of a resource that is no feed yet."""
    return {"uri": resource["uri"], "name": resource["name"][:NAME], "ttl": TTL, "used": False}


def _matches(resource: dict[str, Any], words: str) -> bool:
    said = " ".join(str(resource.get(field, "")) for field in ("name", "title", "uri", "description")).casefold()
    return all(word in said for word in words.casefold().split())


def _rows(post: QueryDict) -> list[dict[str, Any]]:
    """The rows of a form that was sent; each has its number in the names of its fields."""
    return [
        {
            "uri": uri,
            "name": post.get(f"name.{number}", "").strip(),
            "ttl": post.get(f"ttl.{number}", "").strip(),
            "used": f"use.{number}" in post,
        }
        for number, uri in enumerate(post.getlist("uri")[: MOST + descriptor.MAX_FEEDS])
    ]


def _feed(row: dict[str, Any]) -> dict[str, Any]:
    """A row as REST takes a feed; raises InvalidService for a time that is no number."""
    given = row["ttl"]
    try:
        ttl = float(given)
    except ValueError:
        raise InvalidService(f"The time of {row['name'] or 'a feed'} must be a number of seconds.", "feeds") from None
    return {"name": row["name"], "uri": row["uri"], "ttl": int(ttl) if ttl.is_integer() else ttl}


def _seen(found: Service) -> str:
    """What changes when somebody changes the feeds."""
    return sha256_hex(found.feeds)
