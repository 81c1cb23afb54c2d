"""Runs a module when it has its turn: `python -m tests.mcp.in_turn FILE MODULE ARGUMENTS…`.

Of the processes that name the same file one runs at a time. The others have imported nothing yet, so that they take
neither a processor nor memory from the tests beside them.
"""

import fcntl
import runpy
import sys


def main() -> None:
    """Wait for the lock of the file, and hold it until the module has ended."""
    _, file, module, *arguments = sys.argv
    with open(file, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
