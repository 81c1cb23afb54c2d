"""Agents, and what their members may do through them.

`members` remembers it for a process, `audience` and `callers_tools` answer what others ask about it.
"""
