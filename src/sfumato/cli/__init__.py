"""The command line: parse, call the library, print; the exit code is the answer."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a program that called ours is told; no other code is used."""

    HOLDS = 0  # or done
    VIOLATED = 1  # or no release satisfies the policy
    BAD_INPUT = 2
    COULD_NOT_JUDGE = 3
    INTERRUPTED = 130


EXIT_OF = {
    "holds": Exit.HOLDS,
    "violated": Exit.VIOLATED,
    "could_not_judge": Exit.COULD_NOT_JUDGE,
}
OWN_PROCESS: list[bool] = []  # filled where nobody else's code runs in the process
