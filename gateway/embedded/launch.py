"""Run a command that ends with its parent, as another user where asked: `launch.py OPTIONS -- COMMAND…`.

Started as a script, never imported, because what it does must happen in the child between fork and
exec: Python code there is unsafe in a process with threads. It costs about 10 ms.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG, PR_SET_SECUREBITS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 1, 28, 47, 2
SECBIT_NO_SETUID_FIXUP = 4
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
CAPABILITY_VERSION_3 = 0x20080522


def main(arguments: list[str]) -> None:
    """Replace this process by the command after `--`.

    `--parent PID --signal N`: the command gets signal N when process PID ends (Linux). `--user UID:GID`: it runs as
    that user. `--see-all`: it may still pass directories that are closed to that user (Linux capabilities).
    """
    end = arguments.index("--")
    options, command = arguments[:end], arguments[end + 1 :]
    linux = sys.platform == "linux"
    if "--user" in options:
        uid, gid = map(int, _value(options, "--user").split(":"))
        _become(uid, gid, see_all=linux and "--see-all" in options)
    if linux:
        # Changing the user clears the signal, so it is set afterwards.
        _prctl(PR_SET_PDEATHSIG, int(_value(options, "--signal")))
        if os.getppid() != int(_value(options, "--parent")):
            sys.exit("launch: the parent has ended already")
    os.execv(command[0], command)


def _value(options: list[str], name: str) -> str:
    return options[options.index(name) + 1]


def _become(uid: int, gid: int, *, see_all: bool) -> None:
    kept = _permitted() & (1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH) if see_all else 0
    if see_all and not kept:
        raise PermissionError("no capability to pass closed directories")
    if kept:
        # Else the kernel forgets the capabilities of whoever stops being root, and access(2) disregards them.
        _prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if not kept:
        return
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Two words each of effective, permitted and inheritable; both capabilities are in the low words.
    _checked(ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)))
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if kept & 1 << capability:
            _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)


def _permitted() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1], 16) for line in status if line.startswith("CapPrm:"))


def _prctl(option: int, *values: int) -> None:
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _checked(ctypes.CDLL(None, use_errno=True).prctl(option, *padded))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1:])
