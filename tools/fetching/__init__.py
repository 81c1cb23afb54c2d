"""Web pages for models: which hosts a tenant allows, robots.txt, one page within bounds, and its main text."""
