"""A small bundled set of pages, so that search can be tried before an engine is configured; it says what it is."""

import re
from functools import cache

from tools.search.results import SearchResult

HOW_TO_CONFIGURE = "set BRAVE_API_KEY, SERPAPI_API_KEY or SEARXNG_URL"
_MAX_FOUND = 3
_WORD = re.compile(r"[a-z0-9]+")
_COMMON = frozenset({
    "a", "about", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from",
    "how", "i", "in", "is", "it", "me", "my", "of", "on", "or", "the", "to", "use", "using", "was",
    "what", "when", "where", "which", "who", "why", "with", "you", "your",
})  # fmt: skip

_PAGES = (
    SearchResult("Django documentation", "https://docs.djangoproject.com/",
                 "The reference for Django, the Python web framework: models, views, templates, forms, admin."),
    SearchResult("Asynchronous support in Django", "https://docs.djangoproject.com/en/stable/topics/async/",
                 "How Django runs async views under ASGI, and which parts of it are still synchronous."),
    SearchResult("Django REST framework", "https://www.django-rest-framework.org/",
                 "A toolkit for web APIs on Django: serializers, views, authentication, pagination, throttling."),
    SearchResult("drf-spectacular", "https://drf-spectacular.readthedocs.io/",
                 "OpenAPI 3 schema generation for Django REST framework."),
    SearchResult("Celery: distributed task queue", "https://docs.celeryq.dev/",
                 "Run background tasks in Python worker processes, with routing, retries and periodic schedules."),
    SearchResult("PostgreSQL documentation", "https://www.postgresql.org/docs/current/",
                 "The manual of the PostgreSQL relational database: SQL, administration, internals."),
    SearchResult("PostgreSQL: row security policies",
                 "https://www.postgresql.org/docs/current/ddl-rowsecurity.html",
                 "Row-level security: policies that restrict which rows a role may see or change, as for tenants."),
    SearchResult("PostgreSQL: table partitioning",
                 "https://www.postgresql.org/docs/current/ddl-partitioning.html",
                 "Splitting one large table into partitions by range, list or hash."),
    SearchResult("PostgreSQL: JSON types", "https://www.postgresql.org/docs/current/datatype-json.html",
                 "The json and jsonb data types, how they differ, and how jsonb is indexed."),
    SearchResult("psycopg 3", "https://www.psycopg.org/psycopg3/docs/",
                 "The PostgreSQL adapter for Python, with async connections and connection pools."),
    SearchResult("Valkey documentation", "https://valkey.io/docs/",
                 "An open-source key-value store that speaks the Redis protocol: caches, queues, streams."),
    SearchResult("Redis documentation", "https://redis.io/docs/latest/",
                 "The in-memory data store: data types, expiry, pub/sub, Lua scripts, persistence."),
    SearchResult("Uvicorn", "https://www.uvicorn.org/", "An ASGI web server for Python."),
    SearchResult("ASGI specification", "https://asgi.readthedocs.io/",
                 "The interface between asynchronous Python web servers, frameworks and applications."),
    SearchResult("Python documentation", "https://docs.python.org/3/",
                 "The language reference and the standard library of Python."),
    SearchResult("Python asyncio", "https://docs.python.org/3/library/asyncio.html",
                 "Coroutines, tasks, timeouts and event loops in the Python standard library."),
    SearchResult("aiohttp", "https://docs.aiohttp.org/", "An asynchronous HTTP client and server for Python."),
    SearchResult("pytest", "https://docs.pytest.org/", "A testing framework for Python: fixtures, parameters."),
    SearchResult("Hypothesis", "https://hypothesis.readthedocs.io/",
                 "Property-based testing for Python: it searches for inputs that break a stated property."),
    SearchResult("JSON Schema", "https://json-schema.org/",
                 "A vocabulary to describe and validate JSON documents; tools declare their parameters in it."),
    SearchResult("RFC 8785: JSON Canonicalization Scheme", "https://www.rfc-editor.org/rfc/rfc8785",
                 "One byte form of a JSON value, so that hashes and signatures over it can be repeated."),
    SearchResult("RFC 9457: Problem Details for HTTP APIs", "https://www.rfc-editor.org/rfc/rfc9457",
                 "A standard JSON form for errors of HTTP APIs."),
    SearchResult("RFC 6962: Certificate Transparency", "https://www.rfc-editor.org/rfc/rfc6962",
                 "An append-only log built on Merkle trees, with inclusion and consistency proofs for audit."),
    SearchResult("RFC 9562: UUIDs", "https://www.rfc-editor.org/rfc/rfc9562",
                 "Universally unique identifiers, with the time-ordered version 7."),
    SearchResult("Server-sent events", "https://html.spec.whatwg.org/multipage/server-sent-events.html",
                 "The HTML standard's streaming of events from a server over HTTP, with reconnection."),
    SearchResult("Model Context Protocol", "https://modelcontextprotocol.io/",
                 "An open protocol by which language model applications reach tools and data (MCP)."),
    SearchResult("OpenAI: function calling", "https://platform.openai.com/docs/guides/function-calling",
                 "How OpenAI models are given tools and ask for their execution with JSON arguments."),
    SearchResult("Anthropic: tool use", "https://docs.anthropic.com/en/docs/build-with-claude/tool-use",
                 "How Claude models are given tools and answer with tool use blocks."),
    SearchResult("Gemini API: function calling", "https://ai.google.dev/gemini-api/docs/function-calling",
                 "How Gemini models are given function declarations and return function calls."),
    SearchResult("OWASP Top 10 for LLM applications", "https://genai.owasp.org/llm-top-10/",
                 "Security risks of language model applications: prompt injection, excessive agency and others."),
    SearchResult("OWASP: server-side request forgery prevention",
                 "https://cheatsheetseries.owasp.org/cheatsheets/Server_Side_Request_Forgery_Prevention_Cheat_Sheet.html",
                 "How a server is kept from fetching internal addresses on an attacker's behalf (SSRF)."),
)  # fmt: skip
_ENGINES = (
    SearchResult("Brave Search API", "https://brave.com/search/api/",
                 "Nothing in Toolgate's bundled demo set matches. For real results set BRAVE_API_KEY."),
    SearchResult("SerpAPI", "https://serpapi.com/",
                 "Nothing in Toolgate's bundled demo set matches. For real results set SERPAPI_API_KEY."),
    SearchResult("SearXNG documentation", "https://docs.searxng.org/",
                 "Nothing in Toolgate's bundled demo set matches. For real results run SearXNG and set SEARXNG_URL."),
)  # fmt: skip


def search(query: str) -> list[SearchResult]:
    """The best matches by shared words, titles counting double; when there are none, how to get real results."""
    asked = _words(query)
    scored = [(2 * len(asked & title) + len(asked & text), place) for place, (title, text) in enumerate(_indexed())]
    best = sorted((-score, place) for score, place in scored if score)[:_MAX_FOUND]
    return [_PAGES[place] for _, place in best] or list(_ENGINES)


@cache
def _indexed() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple((_words(page.title), _words(page.snippet)) for page in _PAGES)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _COMMON
