"""Web pages for models: hosts, robots.txt, pages, and the tool."""
