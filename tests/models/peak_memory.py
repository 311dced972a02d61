"""The bytes that a process grows by while it loads a model and runs it twice: the peak of what is in memory, less what was before.

    peak_memory.py ours|theirs|plugin MODEL FEEDS.npz LIBRARY
"""

import pathlib
import sys

import numpy

from pairs import Ours, Plugged, Theirs


def status(field):
    """A field of /proc/self/status, in bytes."""
    line = next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def main():
    side, model, feeds, library = sys.argv[1:]
    feeds = {name: value for name, value in numpy.load(feeds).items()}
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins again at what is there now
    before = status("VmRSS")
    subject = Ours(model, 1, library) if side == "ours" else Plugged(model, 1, library) if side == "plugin" else Theirs(model, 1)
    run = subject.run(feeds)
    run()
    run()
    print(status("VmHWM") - before)


if __name__ == "__main__":
    main()
