"""The guard of a server: neither of the two outlives the other."""

import subprocess
import sys
import time

import psutil

from bathysphere.testing.stdin_guard import free_port


def guard(command: str) -> "subprocess.Popen[bytes]":
    url = f"http://127.0.0.1:{free_port()}"
    module = [sys.executable, "-m", "bathysphere.testing.stdin_guard"]
    return subprocess.Popen([*module, url, sys.executable, "-c", command], stdin=subprocess.PIPE)


def test_the_guard_ends_when_its_server_does():
    with guard("raise SystemExit(3)") as process:
        assert process.wait(timeout=20) == 3


def test_the_server_ends_when_standard_input_closes():
    with guard("import time; time.sleep(60)") as process:
        while not (servers := psutil.Process(process.pid).children()):
            time.sleep(0.01)
        process.stdin.close()
        process.wait(timeout=20)
    assert not servers[0].is_running()
