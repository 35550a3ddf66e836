"""Clients that send slowly, and those that open more than their share."""

import socket
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

pytestmark = pytest.mark.services


def connected(stack: ExitStack, url: str) -> socket.socket:
    parts = urlsplit(url)
    return stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=8))


def is_closed_within(link: socket.socket, seconds: float) -> bool:
    link.settimeout(seconds)
    try:
        while link.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_headers_and_bodies_that_do_not_come_are_not_waited_for(command, edge_database):
    url = command(
        "serve",
        "--database-url",
        edge_database.url,
        BATHYSPHERE_HEADER_SECONDS="1",
        BATHYSPHERE_BODY_SECONDS="1",
    ).url()
    host = urlsplit(url).netloc
    with ExitStack() as stack:
        half_headers = [connected(stack, url) for _ in range(20)]
        for link in half_headers:
            link.sendall(f"GET /info HTTP/1.1\r\nhost: {host}\r\nx-slow: ".encode())
        silent = connected(stack, url)
        half_body = connected(stack, url)
        half_body.sendall(
            f"POST /threads HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            "content-length: 1000\r\n\r\n{".encode()
        )
        second = connected(stack, url)  # a first request in time buys no time for the second
        second.sendall(f"GET /info HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        assert second.recv(65536).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET /info HTTP/1.1\r\nhost")
        for link in (*half_headers, silent, half_body, second):
            assert is_closed_within(link, 6)


def test_a_stream_stays_open_whatever_the_deadlines(command, edge_database):
    url = command(
        "serve",
        "--database-url",
        edge_database.url,
        BATHYSPHERE_HEADER_SECONDS="1",
        BATHYSPHERE_BODY_SECONDS="1",
    ).url()
    thread = httpx.post(f"{url}/threads", json={}).json()["thread_id"]
    began = time.monotonic()
    body = {"channels": ["lifecycle"]}
    with httpx.stream(
        "POST", f"{url}/threads/{thread}/stream/events", json=body, timeout=20
    ) as stream:
        assert stream.status_code == 200
        for _ in stream.iter_bytes():
            if time.monotonic() - began > 4:
                break
    assert time.monotonic() - began > 4


def test_open_streams_are_limited_and_free_again_when_closed(command, edge_database):
    url = command(
        "serve", "--database-url", edge_database.url, BATHYSPHERE_MAX_OPEN_PER_USER="5"
    ).url()
    with httpx.Client(base_url=url, timeout=20) as client, ExitStack() as stack:
        thread = client.post("/threads", json={}).json()["thread_id"]
        statuses = [
            stack.enter_context(
                client.stream(
                    "POST", f"/threads/{thread}/stream/events", json={"channels": ["lifecycle"]}
                )
            ).status_code
            for _ in range(8)
        ]
    assert statuses == [200] * 5 + [429] * 3
    for _ in range(50):
        if httpx.get(f"{url}/threads/{thread}").status_code == 200:
            break
        time.sleep(0.1)
    assert httpx.get(f"{url}/threads/{thread}").status_code == 200
