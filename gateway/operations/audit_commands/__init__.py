"""The subcommands of `manage.py audit`, a module each: `add_arguments(parser)`, and `handle(options)`: the exit code.

A module's docstring is its help. What it finds goes to standard output, what it is about to standard error.
"""
