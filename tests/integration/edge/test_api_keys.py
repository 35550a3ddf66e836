"""API keys against a real database."""

from argparse import Namespace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import HTTPConnection

from bathysphere.cli.keys import _list as list_keys
from bathysphere.core.clock import SystemClock
from bathysphere.core.identity import Owner
from bathysphere.server.identity import Unauthenticated
from bathysphere.server.identity.api_keys import ApiKeys, KeyNotFound
from bathysphere.server.identity.choose import identify_by
from bathysphere.server.process.settings import ServerSettings

pytestmark = pytest.mark.services
ADA = Owner(tenant="acme", user="ada")


def connection(*headers: tuple[str, str]) -> HTTPConnection:
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return HTTPConnection({"type": "http", "headers": pairs})


@pytest.fixture
def keys(pool) -> ApiKeys:
    return ApiKeys(pool)


async def test_a_key_stands_for_its_owner(keys):
    made = await keys.create(ADA)
    assert await keys.owner_of(made.secret) == ADA


async def test_a_key_says_whether_it_is_live_expired_or_revoked(keys):
    now = SystemClock().now()
    live = (await keys.create(ADA, expires_at=now + timedelta(days=1))).key
    expired = (await keys.create(ADA, expires_at=now - timedelta(seconds=1))).key
    revoked = (await keys.create(ADA, expires_at=now - timedelta(days=1))).key
    await keys.revoke(revoked.key_id)
    states = {key.key_id: key.state(now) for key in await keys.all()}
    assert [states[key.key_id] for key in (live, expired, revoked)] == [
        "live",
        "expired",
        "revoked",
    ]


async def test_the_list_calls_an_expired_key_expired(keys, pool, capsys):
    made = await keys.create(ADA, expires_at=SystemClock().now() - timedelta(seconds=1))
    await list_keys(pool, Namespace())
    [row] = [line for line in capsys.readouterr().out.splitlines() if made.key.key_id in line]
    assert row.split() == [made.key.key_id, "acme", "ada", "expired", "never"]


async def test_a_wrong_key_is_told_from_what_is_no_key_at_all(keys):
    made = await keys.create(ADA)
    for wrong in (f"bsk_{'0' * 12}_{'A' * 43}", made.secret[:-1], f"{made.secret[:-1]}_"):
        with pytest.raises(Unauthenticated) as refusal:
            await keys.owner_of(wrong)
        assert refusal.value.message == "Unknown API key"
        assert "starts with" not in str(refusal.value.hint)
    with pytest.raises(Unauthenticated) as refusal:
        await keys.owner_of("hello")
    assert refusal.value.message == "Not an API key"
    assert refusal.value.hint == "keys start with bsk_"


async def test_only_a_digest_is_kept(keys, pool):
    made = await keys.create(ADA, label="laptop")
    async with pool.connection() as link:
        [row] = await (await link.execute("SELECT * FROM identity.api_keys")).fetchall()
    secret = made.secret.split("_", 2)[2]
    assert secret not in str({**row, "digest": bytes(row["digest"])})
    assert len(row["digest"]) == 32


@pytest.mark.parametrize(
    "spoil",
    [
        lambda key: f" {key}",
        lambda key: f"{key} ",
        lambda key: f"{key}\n",
        lambda key: key[:-1],
        lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"),
        lambda key: key.upper(),
        lambda key: key.replace("bsk_", "bsk_0", 1),
        lambda key: key + "\x00",
        lambda key: key[:17] + "A" * 43,
        lambda key: "bsk_" + "0" * 12 + key[16:],
        lambda key: "",
        lambda key: key + "é",
    ],
)
async def test_anything_but_the_key_itself_is_refused_with_a_hint(keys, spoil):
    made = await keys.create(ADA)
    with pytest.raises(Unauthenticated) as refusal:
        await keys.owner_of(spoil(made.secret))
    assert refusal.value.hint


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", "Bearer  {key}")],
        [("authorization", "Bearer {key} ")],
        [("authorization", "Bearer {key} extra")],
        [("authorization", "Basic {key}")],
        [("authorization", "{key}")],
        [("authorization", "Bearer {key}"), ("authorization", "Bearer {key}")],
        [("authorization", "Bearer {key}"), ("x-api-key", "{key}")],
        [("x-api-key", "{key}\t")],
        [("x-user", "ada"), ("x-user-id", "ada"), ("langgraph_auth_user", "ada")],
        [("cookie", "authorization=Bearer {key}")],
        [("authorization", "Bearer " + "a" * 20_000)],
    ],
)
async def test_a_request_without_exactly_one_good_credential_is_refused(keys, headers):
    made = await keys.create(ADA)
    pairs = [(name, value.replace("{key}", made.secret)) for name, value in headers]
    with pytest.raises(Unauthenticated):
        await keys.identify(connection(*pairs))


@pytest.mark.parametrize("header", [("authorization", "Bearer {}"), ("x-api-key", "{}")])
async def test_both_headers_that_clients_use_work(keys, header):
    made = await keys.create(ADA)
    assert await keys.identify(connection((header[0], header[1].format(made.secret)))) == ADA


async def test_a_revoked_key_ends_at_once(keys):
    made = await keys.create(ADA)
    await keys.owner_of(made.secret)
    await keys.revoke(made.key.key_id)
    with pytest.raises(Unauthenticated):
        await keys.owner_of(made.secret)
    await keys.revoke(made.key.key_id)


async def test_revoking_what_is_not_there_is_said(keys):
    with pytest.raises(KeyNotFound):
        await keys.revoke("nothing")


async def test_a_key_ends_on_its_day(keys):
    made = await keys.create(ADA, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(Unauthenticated):
        await keys.owner_of(made.secret)


async def test_a_failed_try_does_not_count_as_use(keys):
    made = await keys.create(ADA)
    await keys.revoke(made.key.key_id)
    with pytest.raises(Unauthenticated):
        await keys.owner_of(made.secret)
    [row] = await keys.all()
    assert row.last_used_at is None


async def test_the_last_use_is_seen(keys):
    made = await keys.create(ADA)
    await keys.owner_of(made.secret)
    [row] = await keys.all()
    assert row.last_used_at is not None


async def test_keys_and_tokens_stand_beside_each_other(keys, pool):
    made = await keys.create(ADA)
    settings = ServerSettings(
        auth="api-key,oidc", oidc_issuer="https://issuer.example", oidc_audience="us"
    )
    identify = identify_by(settings, pool=pool, http=None, clock=SystemClock())
    assert await identify(connection(("authorization", f"Bearer {made.secret}"))) == ADA
    with pytest.raises(Unauthenticated, match="Not a valid token"):
        await identify(connection(("authorization", "Bearer something.else")))


@given(st.text(max_size=80) | st.from_regex(r"\Absk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}\Z"))
def test_no_text_is_a_key_by_chance(edge_database, text):
    import asyncio

    from bathysphere.engine.database.pool import open_pool

    async def check() -> None:
        async with open_pool(edge_database) as pool:
            with pytest.raises(Unauthenticated):
                await ApiKeys(pool).owner_of(text)

    asyncio.run(check())
