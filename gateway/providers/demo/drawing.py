"""What the demo model draws: bars of the numbers in a request, or its words on a card."""

import re
from html import escape
from typing import Any

_NUMBER = re.compile(r"\s*([^\d,;:]{1,40}?)[\s=:]*\s(\d{1,6}(?:\.\d{1,3})?)\s*(?:,|;|$|\band\b)")
_MOST_BARS = 20
# Characters of a request that are looked at; the time for them is bounded with them.
_READ = 2000
_LONGEST = 200
_CSS = """
:root { color-scheme: light dark; font: 1rem/1.4 system-ui, sans-serif; }
body { margin: 1.5rem; }
h1 { font-size: 1.25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .5rem .75rem; align-items: center; }
* { box-sizing: border-box; }
dd { margin: 0; padding: .25rem .5rem; border-radius: .375rem; background: #2f4fd0; color: #fff; }
p { padding: 2rem; border: 1px solid #8888; border-radius: .75rem; font-size: 1.25rem; text-align: center; }
"""
# Grows the bars to their lengths; without scripts they are as long as their words.
_JS = """
const bars = [...document.querySelectorAll("dd")];
const most = Math.max(...bars.map((bar) => Number(bar.textContent)), 1);
for (const bar of bars) bar.style.width = `${Math.max(6, (100 * Number(bar.textContent)) / most)}%`;
"""


def arguments(request: str) -> dict[str, Any]:
    """The arguments of `canvas` for what somebody wants to see, such as "bars: tea 3, coffee 5"."""
    request = request[:_READ]
    head, colon, rest = request.partition(":")
    bars = _NUMBER.findall(rest if colon else request)[:_MOST_BARS]
    title = (head if colon and bars else request).strip()[:_LONGEST] or "Bars"
    if not bars:
        return {"title": title, "html": f"<h1>{escape(title)}</h1><p>{escape(request)}</p>", "css": _CSS}
    drawn = "".join(f"<dt>{escape(name.strip())}</dt><dd>{value}</dd>" for name, value in bars)
    return {"title": title, "html": f"<h1>{escape(title)}</h1><dl>{drawn}</dl>", "css": _CSS, "js": _JS}
