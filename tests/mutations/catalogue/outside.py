"""What comes from outside, and what is drawn."""

from tests.mutations.catalogue.mutation import ISOLATION, Mutation, open_policy

CANVAS_SHOWN = ("tests/canvas/test_versions.py",)

MUTATIONS = (
    # --- outside ------------------------------------------------------------------------------------------------------
    Mutation(
        "egress checks no literal address",
        ("tests/tools/test_egress.py",),
        "tools/network/egress.py",
        "if literal is not None and not _permitted(host, literal):",
        "if False:",
    ),
    Mutation(
        "egress checks no looked-up address",
        ("tests/tools/test_egress.py",),
        "tools/network/egress.py",
        "kept = [each for each in found if _permitted(host, ip_address(each[1]))]",
        "kept = list(found)",
    ),
    Mutation(
        "the search follows redirects",
        ("tests/tools/test_search.py",),
        "tools/search/fetch.py",
        "allow_redirects=False",
        "allow_redirects=True",
    ),
    Mutation(
        "the search unpacks without a bound",
        ("tests/tools/test_search.py::test_a_gzip_bomb_is_cut_off",),
        "tools/search/fetch.py",
        "if len(body) > MAX_BYTES:",
        "if False:",
    ),
    Mutation(
        "a provider's words are passed on with keys",
        ("tests/gateway/providers/test_provider_faults.py",),
        "gateway/providers/transport/failures.py",
        'message = message.replace(secret, "…")',
        "pass",
    ),
    Mutation(
        "the key stands in the log",
        ("tests/hostile/test_text.py",),
        "tenants/login/authentication.py",
        "    for row in await transactions.fetch(AUTHENTICATE, [digest(key)]):",
        '    __import__("logging").getLogger(__name__).warning("asked with %s", key)\n'
        "    for row in await transactions.fetch(AUTHENTICATE, [digest(key)]):",
    ),
    Mutation(
        "text forges lines of the log",
        ("tests/hostile/test_text.py",),
        "gateway/process/logs.py",
        "        return _escaped(self._inner.format(record))",
        "        return self._inner.format(record)",
    ),
    # --- canvas -------------------------------------------------------------------------------------------------------
    Mutation(
        "what is drawn is of the page's own origin",
        CANVAS_SHOWN,
        "tools/keeping/canvas_pages.py",
        '"sandbox allow-scripts",',
        '"sandbox allow-scripts allow-same-origin",',
    ),
    Mutation(
        "what is drawn is shown in a window of its own",
        CANVAS_SHOWN,
        "tools/keeping/canvas_pages.py",
        'if request.headers.get("Sec-Fetch-Dest") != "iframe":',
        "if False:",
    ),
    Mutation(
        "the link to a canvas is good for ever",
        CANVAS_SHOWN,
        "tools/keeping/canvases.py",
        "max_age=LIFETIME",
        "max_age=None",
    ),
    Mutation(
        "the link to a canvas outlives its user's membership",
        CANVAS_SHOWN,
        "tools/keeping/canvases.py",
        "if once_more(tenant_id, user_id, None) is None:",
        "if False:",
    ),
    Mutation(
        "what is drawn holds up the page that shows it",
        ("tests/browser/test_canvas.py",),
        "static/js/canvas.js",
        "    await loaded;\n",
        "",
    ),
    Mutation("a canvas is everybody's in the tenant", ISOLATION, sql=open_policy("canvas_versions")),
)
