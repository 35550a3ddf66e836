"""Other users of the same machine do not get into a local server that asks nobody who they are."""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest

from bathysphere.server.asgi import peers
from bathysphere.server.asgi.peers import PeerGuard, can_check_peers, peer_uid
from bathysphere.server.asgi.socket_diag import SocketOwner, find_owner
from bathysphere.server.process.lifecycle import _is_for_one_user
from bathysphere.server.process.listener import listen, listener
from bathysphere.server.process.settings import ServerSettings

NOBODY = 65534
ASK = """
import encodings.idna, os, socket, sys
host, port, closes = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "closes"
os.setuid(int(sys.argv[4]))
with socket.create_connection((host, port), timeout=10) as connection:
    connection.sendall(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
    print("" if closes else connection.recv(1000).split()[1].decode())
"""


async def hello(scope, receive, send):
    hello.asked += 1
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@asynccontextmanager
async def serving(host="127.0.0.1"):
    hello.asked = 0
    listening = listen(host, 0)
    front = listener(PeerGuard(hello), stop_seconds=1)
    task = asyncio.create_task(front.serve(sockets=[listening]))
    await front.is_listening.wait()
    try:
        yield listening.getsockname()[1]
    finally:
        front.should_exit = True
        await task
        listening.close()


async def ask(port, *, host="127.0.0.1", user=None, closes=False) -> str:
    """The status that a process of a user gets."""
    uid = str(os.getuid() if user is None else user)
    command = [sys.executable, "-S", "-c", ASK, host, str(port), "closes" if closes else "", uid]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def refuse_to_tell(*_):
    raise PermissionError


@pytest.fixture(params=["asked", "listed"])
def way(request, monkeypatch):
    """Both ways to learn a socket's owner."""
    if request.param == "listed":
        monkeypatch.setattr(peers, "find_owner", refuse_to_tell)
    else:
        monkeypatch.setattr(peers, "_listed_owner", lambda *_: None)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_the_same_user_comes_in_and_another_does_not(host):
    assert can_check_peers()
    async with serving(host) as port:
        assert await ask(port, host=host) == "200"
        if os.getuid() == 0:
            assert await ask(port, host=host, user=NOBODY) == "403"


@pytest.mark.usefixtures("way")
async def test_a_user_who_hangs_up_at_once_is_not_taken_for_root():
    """A socket that nobody has any more is shown as root's."""
    async with serving() as port:
        if os.getuid() == 0:
            for _ in range(20):
                await ask(port, user=NOBODY, closes=True)
            await asyncio.sleep(0.2)
            assert hello.asked == 0


@pytest.mark.parametrize("way", ["find_owner", "_listed_owner"])
def test_a_socket_without_an_inode_has_no_owner(monkeypatch, way):
    """As older kernels report a closed socket; newer ones keep its user."""
    monkeypatch.setattr(peers, "find_owner", lambda *_: None)
    monkeypatch.setattr(peers, way, lambda *_: SocketOwner(uid=0, inode=0))
    assert peer_uid(("127.0.0.1", 1), ("127.0.0.1", 2)) is None


async def test_a_server_of_another_user_refuses(monkeypatch):
    monkeypatch.setattr(PeerGuard, "_is_allowed", lambda self, scope: uid_of(scope) == NOBODY)
    async with serving() as port:
        assert await ask(port) == "403"


def uid_of(scope):
    return peer_uid(scope["client"], scope["server"])


async def test_both_families_are_found_and_nobody_is_none():
    async with serving() as port:
        with socket.create_connection(("127.0.0.1", port)) as four:
            assert peer_uid(four.getsockname(), four.getpeername()) == os.getuid()
        with socket.socket(socket.AF_INET6) as six:
            six.connect(("::ffff:127.0.0.1", port))
            client = ("127.0.0.1", six.getsockname()[1])
            assert peer_uid(client, ("127.0.0.1", port)) == os.getuid()
    assert peer_uid(("127.0.0.1", 1), ("127.0.0.1", 2)) is None


def test_a_listener_on_the_clients_port_is_not_taken_for_the_client():
    """Without a connection, the kernel answers with the socket that listens on that port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        assert find_owner(address, ("127.0.0.1", 2)) is None
        with socket.create_connection(address) as client:
            owner = find_owner(client.getsockname(), address)
            assert owner is not None
            assert (owner.uid, bool(owner.inode)) == (os.getuid(), True)


@pytest.mark.parametrize(
    ("choices", "checks"),
    [
        ({}, True),
        ({"trusted_proxies": ("127.0.0.1",)}, True),
        ({"auth": ("api-key",)}, False),
        ({"host": "192.0.2.7", "allow_anonymous_anywhere": True}, False),
    ],
)
def test_a_local_server_without_accounts_is_for_one_user_by_default(choices, checks):
    assert _is_for_one_user(ServerSettings(**choices)) is checks
