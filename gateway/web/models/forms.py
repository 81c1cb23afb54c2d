"""The forms of providers and models, as the objects that REST is sent; what is wrong in them REST's functions find."""

from typing import Any

from django.http import QueryDict

from gateway.providers.routing.models import ModelProvider

# How many empty rows there are to fill in.
_EMPTY_ROWS = 2
KIND_WORDS = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "gemini": "Google Gemini",
    "openai-compatible": "OpenAI-compatible server",
}


def provider(post: QueryDict) -> dict[str, Any]:
    """What the form of a provider says; an empty key leaves the present one."""
    given: dict[str, Any] = {name: post.get(name, "").strip() for name in ("kind", "base_url")}
    given |= {"enabled": "enabled" in post, "models": _words(post.get("models", "")) or None}
    if key := post.get("api_key", "").strip():
        given["api_key"] = key
    elif "no_key" in post:
        given["api_key"] = ""
    return given


def provider_fields(row: ModelProvider) -> dict[str, Any]:
    """A provider as its form shows it; never its key."""
    return {
        "slug": row.slug,
        "kind": row.kind,
        "base_url": row.base_url,
        "enabled": row.enabled,
        "models": "\n".join(row.listed or ()),
    }


def rules(post: QueryDict) -> dict[str, Any]:
    """What the form of models says."""
    which = post.getlist("fallback_for")
    models = post.getlist("fallback_to")
    columns = [post.getlist(f"price_{name}") for name in ("model", "input", "output", "cached")]
    return {
        "allowed": None if post.get("which") == "all" else _words(post.get("allowed", "")),
        "fallbacks": {
            name.strip(): _words(to.replace(",", " ")) for name, to in zip(which, models, strict=False) if name.strip()
        },
        "prices": [
            {"model": model.strip(), "input": into.strip(), "output": out.strip(), "cached": cached.strip() or None}
            for model, into, out, cached in zip(*columns, strict=False)
            if model.strip()
        ],
        "version": _number(post.get("version", "")),
    }


def rows(given: dict[str, Any]) -> dict[str, Any]:
    """What is said of models, as the form's rows, with some that are empty."""
    fallbacks = [{"name": name, "models": ", ".join(models)} for name, models in given["fallbacks"].items()]
    return {
        "restricted": given["allowed"] is not None,
        "allowed": "\n".join(given["allowed"] or ()),
        "fallbacks": [*fallbacks, *([{"name": "", "models": ""}] * _EMPTY_ROWS)],
        "prices": [*given["prices"], *([{}] * _EMPTY_ROWS)],
        "version": given["version"],
    }


def _words(text: str) -> list[str]:
    return text.split()


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
