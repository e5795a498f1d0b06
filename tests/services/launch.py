"""Become a service that cannot outlive the test run: `launch.py PARENT SIGNAL USER COMMAND...`.

A program of its own, not a preexec_fn, which would run Python between fork and exec of a threaded process.
The user is changed first, because that clears the death signal. USER is a numeric id, or - for our own.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, death_signal, user, *command = sys.argv[1:]
    if user != "-":
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != int(parent):
            sys.exit("the test run ended before its service started")
    os.execv(command[0], command)  # noqa: S606 -- no shell is wanted


if __name__ == "__main__":
    main()
