"""The mint client: which answers are refusals, and which leave everything open."""

import asyncio
import json

import httpx
import pytest
from offline_mint import EVIL, HONEST

from bathysphere.payments.errors import MintRefused, MintUnfit, MintUnknown
from bathysphere.payments.mint import MAX_BODY, KeysetBook, MintClient
from bathysphere.payments.nuts import curve
from bathysphere.payments.nuts.proofs import BlindedMessage

G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
H = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
SIGNED = {"amount": 8, "id": "00", "C_": G}


def mint(answer, url="https://mint.test/", **options) -> MintClient:
    """A client whose mint answers with what the function of the request gives."""

    def handle(request: httpx.Request) -> httpx.Response:
        given = answer(request) if callable(answer) else answer
        return given if isinstance(given, httpx.Response) else httpx.Response(200, json=given)

    return MintClient(url, transport=httpx.MockTransport(handle), **options)


# ── refused, or unknown ──


@pytest.mark.parametrize("code", [0, 11001, 20000])
async def test_a_400_with_a_code_is_a_refusal(code):
    client = mint(httpx.Response(400, json={"code": code, "detail": "no"}))
    with pytest.raises(MintRefused, match=rf"\(code {code}\): no") as refused:
        await client.swap("{}")
    assert refused.value.mint_code == code


UNKNOWN = {
    "400 without a code": httpx.Response(400, json={"detail": "no"}),
    "400 with a text as code": httpx.Response(400, json={"code": "11001"}),
    "400 with true as code": httpx.Response(400, json={"code": True}),
    "400 without JSON": httpx.Response(400, text="bad"),
    "422 with a code": httpx.Response(422, json={"code": 11001}),
    "429": httpx.Response(429, json={"code": 11001}),
    "500": httpx.Response(500, json={"code": 11001, "detail": "no"}),
    "502": httpx.Response(502, text="<html>"),
    "302": httpx.Response(302, headers={"location": "https://evil.test/"}, json={}),
    "204": httpx.Response(204),
    "201": httpx.Response(201, json={"signatures": []}),
    "no JSON": httpx.Response(200, text="<html>"),
    "a list": httpx.Response(200, json=[]),
    "not UTF-8": httpx.Response(200, content=b"\xff"),
    "no signatures": httpx.Response(200, json={}),
    "signatures that are none": httpx.Response(200, json={"signatures": [{}]}),
}


@pytest.mark.parametrize("name", UNKNOWN)
async def test_everything_else_leaves_it_open(name):
    with pytest.raises(MintUnknown):
        await mint(UNKNOWN[name]).swap("{}")


@pytest.mark.parametrize(
    "error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.ReadError]
)
async def test_a_broken_connection_leaves_it_open(error):
    def breaks(_request):
        raise error("broken")

    with pytest.raises(MintUnknown, match=error.__name__):
        await mint(breaks).swap("{}")


async def test_redirects_are_not_followed_and_the_environment_is_not_asked(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    asked = []

    def answer(request):
        asked.append(str(request.url))
        return httpx.Response(307, headers={"location": "https://evil.test/v1/swap"})

    with pytest.raises(MintUnknown, match=r"307|Invalid response"):
        await mint(answer).swap("{}")
    assert asked == ["https://mint.test/v1/swap"]
    assert MintClient("https://mint.test")._http._mounts == {}


@pytest.mark.parametrize(("size", "fits"), [(MAX_BODY, True), (MAX_BODY + 1, False)])
async def test_a_body_has_a_largest_size(size, fits):
    start = b'{"signatures": []'
    body = start + b" " * (size - len(start) - 1) + b"}"
    client = mint(httpx.Response(200, content=body))
    if fits:
        assert await client.swap("{}") == []
    else:
        with pytest.raises(MintUnknown, match="larger than"):
            await client.swap("{}")


async def test_a_mint_that_answers_drop_by_drop_is_given_up():
    async def drip(reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            for _ in range(100):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        except OSError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = MintClient(f"http://127.0.0.1:{port}", timeout=0.2)
        with pytest.raises(MintUnknown, match="TimeoutError"):
            await client.info()
        await client.close()
        await asyncio.sleep(0.1)


async def test_the_body_is_sent_as_it_is():
    seen = []

    def answer(request):
        seen.append((request.method, request.url.path, request.headers["content-type"]))
        seen.append(request.read())
        return {"signatures": [SIGNED]}

    [signature] = await mint(answer).swap('{"inputs":  []}')
    assert seen == [("POST", "/v1/swap", "application/json"), b'{"inputs":  []}']
    assert (signature.amount, signature.c.hex()) == (8, G)


# ── restore and states ──

OUTPUTS = [BlindedMessage(amount=8, keyset_id="00", b=bytes.fromhex(b)) for b in (G, H)]


async def test_what_was_signed_is_found_by_its_output():
    answer = {"outputs": [{"B_": H}, {"B_": G}], "signatures": [{**SIGNED, "amount": 4}, SIGNED]}
    found = (await mint(answer).restore(OUTPUTS)).signatures
    assert {b.hex(): signature.amount for b, signature in found.items()} == {H: 4, G: 8}
    assert (await mint({"outputs": [], "signatures": []}).restore(OUTPUTS)).signatures == {}


@pytest.mark.parametrize(
    "answer",
    [{}, {"outputs": []}, {"signatures": []}, {"outputs": [{"B_": G}], "signatures": []},
     {"outputs": [{"B_": 5}], "signatures": [SIGNED]}, {"outputs": [5], "signatures": [SIGNED]},
     {"outputs": [], "signatures": [SIGNED]}, {"outputs": None, "signatures": None}],
)  # fmt: skip
async def test_a_restore_that_makes_no_sense_leaves_it_open(answer):
    with pytest.raises(MintUnknown):
        await mint(answer).restore(OUTPUTS)


async def test_states_come_back_in_the_order_of_the_question():
    answer = {"states": [{"Y": H, "state": "SPENT"}, {"Y": G, "state": "PENDING"}]}
    ys = [bytes.fromhex(y) for y in (G, H, G)]
    assert await mint(answer).states(ys) == ["PENDING", "SPENT", "PENDING"]
    third = curve.public_key(b"\x07" * 32)
    answer["states"].append({"Y": third.hex(), "state": "UNSPENT"})  # every state at once
    assert await mint(answer).states([*ys, third]) == ["PENDING", "SPENT", "PENDING", "UNSPENT"]


@pytest.mark.parametrize(
    "states",
    [[], [{"Y": G, "state": "GONE"}], [{"Y": H, "state": "SPENT"}], [{"Y": G}], [5], None,
     [{"Y": "zz", "state": "SPENT"}]],
)  # fmt: skip
async def test_states_that_make_no_sense_leave_it_open(states):
    with pytest.raises(MintUnknown):
        await mint({"states": states}).states([bytes.fromhex(G)])


async def test_many_states_are_asked_in_batches():
    ys = [curve.hash_to_curve(bytes([n])) for n in range(250)]
    asked = []

    def answer(request):
        batch = json.loads(request.read())["Ys"]
        asked.append(len(batch))
        return {"states": [{"Y": y, "state": "UNSPENT"} for y in batch]}

    assert await mint(answer).states(ys) == ["UNSPENT"] * 250
    assert asked == [100, 100, 50]
    assert await mint(answer).states([]) == []


# ── what a mint must have ──

FIT = {str(nut): {"supported": True} for nut in (7, 9, 10, 11, 12)}


async def test_a_mint_that_has_everything_is_fit():
    await mint({"nuts": {**FIT, "4": {"methods": []}}}).check_fit()


@pytest.mark.parametrize("nut", FIT)
@pytest.mark.parametrize("setting", [None, {"supported": False}, {"supported": "yes"}, True])
async def test_a_mint_that_lacks_something_is_not(nut, setting):
    with pytest.raises(MintUnfit, match=f"does not support NUT-{int(nut):02}"):
        await mint({"nuts": {**FIT, nut: setting}}).check_fit()


async def test_a_mint_that_says_nothing_is_not_fit():
    with pytest.raises(MintUnfit, match="NUT-07, NUT-09, NUT-10, NUT-11, NUT-12"):
        await mint({"nuts": []}).check_fit()


# ── keysets ──


def keyset_answers(*keysets, **changes):
    def answer(request):
        if request.url.path == "/v1/keysets":
            return {"keysets": [
                {"id": k.id, "unit": k.unit, "active": k.active, "input_fee_ppk": k.input_fee_ppk,
                 **changes} for k in keysets
            ]}  # fmt: skip
        wanted = request.url.path.removeprefix("/v1/keys/")
        found = [k for k in keysets if k.id == wanted]
        return {"keysets": [{"keys": {str(a): c.hex() for a, c in k.keys.items()}} for k in found]}

    return answer


async def test_keysets_are_loaded_with_their_keys():
    known = await mint(keyset_answers(HONEST.keyset, EVIL.keyset)).keysets()
    assert list(known) == [HONEST.keyset, EVIL.keyset]


@pytest.mark.parametrize(
    "changes", [{"input_fee_ppk": 0}, {"unit": "usd"}, {"id": "../../evil"}, {"id": 5}]
)
async def test_keysets_that_are_not_what_they_say_are_not_used(changes):
    with pytest.raises(MintUnknown):
        await mint(keyset_answers(HONEST.keyset, **changes)).keysets()


async def test_a_list_of_keysets_that_makes_no_sense():
    for answer in ({}, {"keysets": [5]}, {"keysets": [{}]}):
        with pytest.raises(MintUnknown):
            await mint(answer).keysets()


class Clock:
    time = 100.0

    def monotonic(self):
        return self.time


async def test_the_book_asks_once_and_again_only_after_a_while():
    asked = []
    answers = keyset_answers(HONEST.keyset)

    def answer(request):
        asked.append(request.url.path)
        return answers(request)

    clock = Clock()
    book = KeysetBook(mint(answer), clock, min_seconds=30)
    assert await book.get() is await book.get()
    for _ in range(10):
        await book.reload()
    assert asked.count("/v1/keysets") == 1
    clock.time += 29.9
    await book.reload()
    assert asked.count("/v1/keysets") == 1
    clock.time += 0.1
    await book.reload()
    assert asked.count("/v1/keysets") == 2
    async with asyncio.TaskGroup() as group:
        clock.time += 60
        for _ in range(5):
            group.create_task(book.reload())
    assert asked.count("/v1/keysets") == 3


async def test_a_book_whose_mint_is_away_keeps_what_it_knows():
    answers = {"now": keyset_answers(HONEST.keyset)}
    clock = Clock()
    book = KeysetBook(mint(lambda request: answers["now"](request)), clock, min_seconds=30)
    known = await book.get()
    answers["now"] = lambda _request: httpx.Response(502)
    clock.time += 60
    with pytest.raises(MintUnknown):
        await book.reload()
    assert await book.get() is known


# ── what goes over the wire ──


async def test_each_question_goes_to_its_own_place():
    asked = []

    def answer(request: httpx.Request) -> object:
        asked.append((request.method, str(request.url), json.loads(request.content or "{}")))
        return {"nuts": {}, "signatures": [], "outputs": [], "states": [], "keysets": []}

    client = mint(answer, url="https://mint.test/base//")
    await client.info()
    await client.keysets()
    await client.swap('{"inputs": []}')
    await client.restore([BlindedMessage(amount=8, keyset_id="00", b=bytes.fromhex(G))])
    with pytest.raises(MintUnknown, match="missing proof state"):
        await client.states([bytes.fromhex(G)])
    base = "https://mint.test/base/v1"
    assert asked == [
        ("GET", f"{base}/info", {}),
        ("GET", f"{base}/keysets", {}),
        ("POST", f"{base}/swap", {"inputs": []}),
        ("POST", f"{base}/restore", {"outputs": [{"amount": 8, "id": "00", "B_": G}]}),
        ("POST", f"{base}/checkstate", {"Ys": [G]}),
    ]
    await client.close()
    with pytest.raises(RuntimeError, match="closed"):
        await client.info()


async def test_the_keys_of_a_keyset_are_asked_for_by_its_id():
    asked = []

    def answer(request: httpx.Request) -> object:
        asked.append((request.method, request.url.path))
        return {"keysets": [{"id": "00ab"}]}

    with pytest.raises(MintUnknown):
        await mint(answer).keysets()
    assert asked == [("GET", "/v1/keysets"), ("GET", "/v1/keys/00ab")]


async def test_the_book_reads_the_keysets_once_until_it_is_told_to():
    loads = []

    class Counted:
        async def keysets(self):
            loads.append(1)
            return HONEST.keyset

    class Clock:
        def monotonic(self):
            return len(loads) * 1000.0

    book = KeysetBook(Counted(), Clock())
    assert await book.get() is HONEST.keyset
    assert await book.get() is HONEST.keyset
    assert len(loads) == 1
