"""The installed command in a terminal of its own, played by a test."""

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "bathysphere")
COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG", "VIRTUAL_ENV"}}
    return kept | {"BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0", "PYTHONUTF8": "1"} | more


class Terminal:
    """A terminal with the command in it."""

    def __init__(self, *args, **more):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(COMMAND, [COMMAND, *args], environment(TERM="xterm-256color", **more))
        self.text = ""

    def until(self, words, seconds=50):
        """Read until the screen shows `words` after what was asked for before."""
        end = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > end:
                raise TimeoutError(f"{words!r} did not come: {self.text!r}")
            if select.select([self.fd], [], [], 0.1)[0]:
                self.text += COLOURS.sub("", os.read(self.fd, 4096).decode(errors="replace"))
        before, _, self.text = self.text.partition(words)
        return before

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def exit_code(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self):
        """End the command, if it still runs, and the terminal."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)
