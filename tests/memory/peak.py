"""Runs a command and writes the largest resident memory it had, in bytes: peak.py FILE COMMAND..."""

import os
import sys

child = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as out:
    out.write(str(usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
