"""The process that finds the main text of pages; a page can only harm it, and it holds no secret.

It has a small environment, no database, little memory, and nothing that it may write. Its other end ends it when a page
takes too long.
"""

import json
import os
import resource
import sys
from multiprocessing.connection import Connection
from typing import Any

IDLE_SECONDS = 60.0
# What a page has left in memory goes with the process.
MOST_PAGES = 200
MEMORY_BYTES = 1024 * 1024 * 1024
LOWER_PRIORITY = 10
MOST_TITLE = 300
READY = b"ready"


def main() -> None:
    """Answer each page with its title and text, until there is none for a while or the other end is gone."""
    connection = Connection(int(sys.argv[1]))
    most = int(sys.argv[2])
    os.nice(LOWER_PRIORITY)
    # Loaded before anything is limited.
    extract("<html><body><p>Ready</p></body></html>", most)
    for limit, value in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (value, value))
        except (OSError, ValueError):
            continue  # Not every system has each of them.
    try:
        connection.send_bytes(READY)
        for _ in range(MOST_PAGES):
            if not connection.poll(IDLE_SECONDS):
                return
            connection.send_bytes(json.dumps(_answer(connection.recv_bytes(), most)).encode())
    except (EOFError, OSError):
        return


def _answer(page: bytes, most: int) -> dict[str, Any] | None:
    try:
        title, text, whole = extract(page.decode(), most)
    except Exception:
        # Whatever a page makes a parser do; memory that is used up is an exception as well.
        return None
    return {"title": title, "text": text, "whole": whole}


def extract(page: str, most: int) -> tuple[str, str, bool]:
    """The page's title, at most `most` characters of its main text, and whether that is all of it.

    Where a page has no main text, it is all of its text.
    """
    import trafilatura

    # The parser refuses a text that names an encoding.
    if page.lstrip().startswith("<?xml"):
        page = page.partition("?>")[2]
    if "<html" not in page[:2000].lower():
        # The parser takes no piece of a page for one.
        page = f"<html><body>{page}</body></html>"
    tree = trafilatura.load_html(page)
    if tree is None:
        return "", "", True
    titles = [" ".join(each.text_content().split()) for each in tree.iter("title")][:1]
    found = trafilatura.bare_extraction(page, include_comments=False, with_metadata=False)
    text = (getattr(found, "text", None) or trafilatura.html2txt(tree) or tree.text_content()).strip()
    return "".join(titles)[:MOST_TITLE], text[:most], len(text) <= most


if __name__ == "__main__":
    main()
