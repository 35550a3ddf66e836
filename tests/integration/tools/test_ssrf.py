"""No request reaches a forbidden address: not by any spelling, redirect or change of a name.

A listener on loopback counts what arrives, and an audit hook of the interpreter counts every
`connect` of every socket, so that what goes elsewhere is seen too.
"""

import sys
import threading
from contextlib import contextmanager

import httpx
import pytest
from loopback import names, redirect, response, web

from bathysphere.tools.errors import FetchFailed, FetchRefused
from bathysphere.tools.fetch import Fetcher, FetchRules

_watch = threading.local()


def _hook(event, arguments):
    if event == "socket.connect" and getattr(_watch, "seen", None) is not None:
        _watch.seen.append(arguments[1])


sys.addaudithook(_hook)


@contextmanager
def connects():
    """Every address that a socket of this thread connects to."""
    _watch.seen = []
    try:
        yield _watch.seen
    finally:
        _watch.seen = None


# Hosts; each is tried with the listener's port, which the rules allow.
HOSTS = [
    # loopback, spelled in every way that some parser reads
    "127.0.0.1",
    "127.0.0.2",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "2130706433",
    "02130706433",
    "0x7f000001",
    "0x7f.0x0.0x0.0x1",
    "0x7f.1",
    "0X7F.0.0.1",
    "0177.0.0.1",
    "0177.0.0.01",
    "017700000001",
    "0177.1",
    "127.0.0.1.",
    "127.000.000.001",
    "127.0.0.0x1",
    "127.0x0.0.1",
    "4294967295",
    "0",
    "0.0.0.0",
    "00.00.00.00",
    "0x0",
    "①②⑦.⓪.⓪.①",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "127%2e0%2e0%2e1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:7f00:0001::1]",
    "[2001:0:7f00:1::]",
    "[2001::7f00:1]",
    "[::1%25lo]",
    "[fe80::1%25eth0]",
    "[fe80::1]",
    "[::1%lo]",
    # names
    "localhost",
    "LOCALHOST",
    "localhost.",
    "foo.localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "ⓛocalhost",
    "router",
    "printer.local",
    "db.internal",
    "metadata.google.internal",
    "x.home.arpa",
    "1.0.0.127.in-addr.arpa",
    # private, shared, link-local, cloud metadata
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.1.254",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "169.254.170.2",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "[fc00::1]",
    "[fdff::1]",
    "[fec0::1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::a00:1]",
    "[2002:a00:1::]",
    # multicast, broadcast, reserved, documentation
    "224.0.0.1",
    "239.255.255.250",
    "255.255.255.255",
    "240.0.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "192.88.99.1",
    "[ff02::1]",
    "[ff0e::1]",
    "[100::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[4000::1]",
]

ADDRESSES = [
    "ftp://127.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_x",
    "dict://127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "http:127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http://user@public.example:{port}/",
    "http://user:word@public.example/",
    "http://public.example@127.0.0.1:{port}/",
    "http://public.example:80@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@public.example/",
    "http://public.example%40127.0.0.1:{port}/",
    "http://public.example\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\.public.example/",
    "http://127.0.0.1:{port}\t/",
    "http://127.0.0.1\n:{port}/",
    " http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\x00.public.example/",
    "http://[::1:{port}/",
    "http://::1:{port}/",
    "http://public.example:22/",
    "http://public.example:6379/",
    "http://public.example:0/",
    "http://public.example:99999/",
    "http://-bad-.example/",
    "http://a..example/",
    "http:// /",
    "http://",
    "",
    "javascript:alert(1)",
    "data:text/html,x",
    "http://" + "a" * 3_000 + ".example/",
]


def spelled(port: int) -> list[str]:
    return [f"http://{host}:{port}/" for host in HOSTS] + [
        address.replace("{port}", str(port)) for address in ADDRESSES
    ]


def rules(port: int, **more) -> FetchRules:
    return FetchRules(ports=(80, 443, port), timeout_s=5, **more)


def post(fetcher: Fetcher, address: str):
    return fetcher.post_json(address, {})


WAYS = pytest.mark.parametrize("reach", [Fetcher.get, post])


@WAYS
async def test_no_spelling_of_a_forbidden_address_is_connected_to(reach):
    tried = 0
    async with web() as listener, names({}) as (dns, resolver):
        async with Fetcher(rules(listener.port), resolver=resolver) as fetcher:
            for address in spelled(listener.port):
                with connects() as seen, pytest.raises(FetchRefused):
                    await reach(fetcher, address)
                assert seen == [], address
                tried += 1
        assert listener.connections == 0
        # No spelling of a number was even looked up.
        assert [name for name in dns.asked if any(part.isdigit() for part in name.split("."))] == []
    assert tried >= 80


async def test_the_same_addresses_at_the_end_of_a_redirect_are_not_connected_to():
    statuses = ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"]
    async with web() as listener, web() as start, names({}) as (_, resolver):
        given = rules(listener.port, pinned={"start.example": f"127.0.0.1:{start.port}"})
        async with Fetcher(given, resolver=resolver) as fetcher:
            targets = [t for t in spelled(listener.port) if t.startswith("http")]
            for number, target in enumerate(targets):
                if not target.isprintable() or not target.isascii():
                    continue
                start.answers["/go"] = redirect(target, statuses[number % 5])
                before = start.connections
                try:
                    await fetcher.get("http://start.example/go")
                except (FetchRefused, FetchFailed):
                    pass
                else:
                    raise AssertionError(target)
                # Relative readings of a target may come back to the start; nothing else was met.
                assert start.connections > before
        assert listener.connections == 0


@pytest.mark.parametrize(
    "target",
    [
        "//127.0.0.1:{port}/",
        "http://[::1]:{port}/",
        "\\\\127.0.0.1:{port}/",
        "http:127.0.0.1:{port}",
    ],
)
async def test_relative_tricks_in_a_redirect(target):
    async with web() as listener, web() as start:
        given = rules(listener.port, pinned={"start.example": f"127.0.0.1:{start.port}"})
        start.answers["/go"] = redirect(target.replace("{port}", str(listener.port)))
        async with Fetcher(given) as fetcher:
            with pytest.raises((FetchRefused, FetchFailed)):
                await fetcher.get("http://start.example/go")
        assert listener.connections == 0


async def test_a_chain_of_redirects_is_checked_at_each_hop_and_ends():
    async with web() as listener, web() as start:
        given = rules(listener.port, pinned={"start.example": f"127.0.0.1:{start.port}"})
        for hop in range(4):
            start.answers[f"/{hop}"] = redirect(f"/{hop + 1}")
        start.answers["/4"] = redirect(f"http://127.0.0.1:{listener.port}/")
        start.answers["/loop"] = redirect("/loop")
        async with Fetcher(given) as fetcher:
            with pytest.raises(FetchRefused):
                await fetcher.get("http://start.example/0")
            with pytest.raises(FetchFailed) as circle:
                await fetcher.get("http://start.example/loop")
        assert circle.value.reason == "redirects"
        assert start.connections == 5 + 6
        assert listener.connections == 0


@WAYS
@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["::1"],
        ["10.1.2.3"],
        ["169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["127.0.0.1", "93.184.216.34"],
        ["2606:2800:220:1::1", "fe80::1"],
        ["64:ff9b::7f00:1"],
        ["0.0.0.0"],
        ["224.0.0.1"],
        [],
    ],
    ids=str,
)
async def test_a_public_name_that_leads_to_a_forbidden_address_is_refused(found, reach):
    async with web() as listener, names({"inside.example": [found]}) as (dns, resolver):
        async with Fetcher(rules(listener.port), resolver=resolver) as fetcher:
            for scheme in ("http", "https"):
                with connects() as seen, pytest.raises(FetchRefused):
                    await reach(fetcher, f"{scheme}://inside.example:{listener.port}/")
                assert seen == []
        assert listener.connections == 0
        assert dns.asked == ["inside.example"] * 2


class Recorder(httpx.AsyncBaseTransport):
    """Stands where the connection would be made, and writes down to which number."""

    def __init__(self) -> None:
        self.targets: list[tuple[str, str, str]] = []

    async def handle_async_request(self, request):
        sni = request.extensions["sni_hostname"]
        self.targets.append((request.url.host, request.headers["host"], sni))
        stream = httpx.ByteStream(b"hello")
        return httpx.Response(200, headers={"content-type": "text/plain"}, stream=stream)


async def test_a_name_that_changes_its_mind_changes_nothing():
    """DNS rebinding: public when checked, loopback when asked again."""
    turns = {"rebind.example": [["93.184.216.34"], ["127.0.0.1"]]}
    async with names(turns) as (dns, resolver):
        rules = FetchRules(timeout_s=5)
        async with Fetcher(rules, resolver=resolver) as fetcher:
            recorder = fetcher._transport._inner = Recorder()
            got = await fetcher.get("https://rebind.example/x")
            assert got.body == b"hello"
            # One look-up; the connection goes to the number that was checked, under the name.
            assert recorder.targets == [("93.184.216.34", "rebind.example", "rebind.example")]
            assert dns.asked == ["rebind.example"]
            # The second request looks it up again, and the answer is checked again.
            with pytest.raises(FetchRefused):
                await fetcher.get("https://rebind.example/x")
            assert len(recorder.targets) == 1


async def test_a_name_that_changes_its_mind_on_a_redirect_to_itself_is_refused():
    turns = {"rebind.example": [["93.184.216.34"], ["127.0.0.1"]]}
    async with web() as listener, names(turns) as (_, resolver):
        async with Fetcher(rules(listener.port), resolver=resolver) as fetcher:

            class Sends(Recorder):
                async def handle_async_request(self, request):
                    await super().handle_async_request(request)
                    target = f"https://rebind.example:{listener.port}/again"
                    return httpx.Response(302, headers={"location": target})

            recorder = fetcher._transport._inner = Sends()
            with pytest.raises(FetchRefused) as refused:
                await fetcher.get("https://rebind.example/x")
        assert refused.value.reason == "private_address"
        assert len(recorder.targets) == 1
        assert listener.connections == 0


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://user@a.example/", "user"),
        ("http://user:word@a.example/", "user"),
        ("http://@a.example/", "user"),
        ("http://a.example:81/", "port"),
        ("https://a.example:80@b.example/", "user"),
        ("ftp://a.example/", "scheme"),
        ("http://a.example/ b", "form"),
        ("http://127.1/", "odd_host"),
        ("http://127.0.0.1/", "private_address"),
        ("http://[::1]/", "private_address"),
        ("http://a.local/", "private_name"),
        ("http://gone.example/", "no_address"),
    ],
)
async def test_a_refusal_says_why(address, reason):
    answers = {"a.example": [["93.184.216.34"]], "b.example": [["93.184.216.34"]]}
    async with names(answers) as (_, resolver), Fetcher(resolver=resolver) as fetcher:
        fetcher._transport._inner = Recorder()
        with pytest.raises(FetchRefused) as refused:
            await fetcher.get(address)
        assert refused.value.reason == reason
        assert (await fetcher.get("http://a.example/")).body == b"hello"


async def test_nothing_is_trusted_or_pinned_unless_it_is_written_down():
    assert FetchRules().trusted == frozenset()
    assert dict(FetchRules().pinned) == {}
    async with web() as listener:
        listener.answers["/"] = response(b"<p>secret</p>")
        origin = f"http://127.0.0.1:{listener.port}"
        async with Fetcher() as fetcher:
            with pytest.raises(FetchRefused):
                await fetcher.get(f"{origin}/")
        assert listener.connections == 0
        async with Fetcher(FetchRules(trusted=frozenset({origin}))) as fetcher:
            with connects() as seen:
                assert (await fetcher.get(f"{origin}/")).body == b"<p>secret</p>"
            assert seen == [("127.0.0.1", listener.port)]  # the watch does see what is connected
            for near in (f"http://127.0.0.2:{listener.port}/", "http://127.0.0.1:1/"):
                with pytest.raises(FetchRefused):
                    await fetcher.get(near)


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    async with web() as listener, names({"a.example": [["93.184.216.34"]]}) as (_, resolver):
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")
        async with Fetcher(FetchRules(timeout_s=5), resolver=resolver) as fetcher:
            fetcher._transport._inner = Recorder()
            await fetcher.get("http://a.example/")
        assert listener.connections == 0
