"""Refuse other users of the same machine on a server without authentication.

On Linux, the kernel tells which user owns the other end of a loopback connection, so no credential
is needed: browsers, curl and SDKs of the same user are accepted, other users are not. Root is
accepted: it could read everything anyway.
"""

import os
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.server.asgi.refusal import refuse
from bathysphere.server.asgi.socket_diag import SocketOwner, find_owner

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9
_ROOT = 0


def can_check_peers() -> bool:
    """Whether this system reports the owner of a connection."""
    return sys.platform == "linux" and _TABLES[0].exists()


class PeerGuard:
    """Refuses connections from users other than the one this process runs as."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._allowed = {_ROOT, os.getuid()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] not in ("http", "websocket") or self._is_allowed(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "Another user"})
        else:
            await refuse(
                send,
                403,
                code="other_user",
                message="This server belongs to another user of this machine",
                hint="start your own, or ask its owner for a key (BATHYSPHERE_AUTH=api-key)",
            )

    def _is_allowed(self, scope: Scope) -> bool:
        client, server = scope.get("client"), scope.get("server")
        if client is None or server is None or server[1] is None:
            return False
        return peer_uid(client, server) in self._allowed


def peer_uid(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The uid that owns the client's end of a local connection; None if there is none.

    A socket that its process has closed has no inode, and the kernel reports it as root's.
    """
    try:
        owner = find_owner(client, server)
    except OSError:  # a sandbox may forbid the question
        owner = None
    if owner is None:
        owner = _listed_owner(client, server)
    return owner.uid if owner is not None and owner.inode else None


def _listed_owner(client: tuple[str, int], server: tuple[str, int]) -> SocketOwner | None:
    """The owner by `/proc/net/tcp`, which also lists IPv4 connections of IPv6 sockets."""
    ends = {
        (_kernel_format(*client, mapped), _kernel_format(*server, mapped))
        for mapped in (False, True)
    }
    for row in _rows():
        if (row[_LOCAL], row[_REMOTE]) in ends and row[_INODE] != "0":
            return SocketOwner(int(row[_UID]), int(row[_INODE]))
    return None


def _rows() -> Iterator[list[str]]:
    for table in _TABLES:
        if table.exists():
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                yield line.split()


def _kernel_format(host: str, port: int, mapped: bool) -> str:
    """An address in the format of `/proc/net/tcp`: 32-bit words in native byte order."""
    address = ip_address(host.partition("%")[0])
    if mapped and isinstance(address, IPv4Address):
        address = IPv6Address(f"::ffff:{address}")
    packed = address.packed
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    numbers = (int.from_bytes(word, sys.byteorder) for word in words)
    return "".join(f"{number:08X}" for number in numbers) + f":{port:04X}"
