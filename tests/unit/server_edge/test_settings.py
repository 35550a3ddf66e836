"""Settings: what is refused, and that nothing is trusted by default."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.server.process.addresses import is_loopback
from bathysphere.server.process.settings import ServerSettings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    import os

    for name in list(os.environ):
        if name.startswith("BATHYSPHERE_"):
            monkeypatch.delenv(name)


def test_nothing_set_is_one_machine_that_only_it_can_reach():
    settings = ServerSettings.from_environment()
    assert (settings.host, settings.auth) == ("127.0.0.1", ("anonymous",))
    assert settings.is_loopback
    assert settings.is_embedded
    assert settings.hosts() == ("localhost", "127.0.0.1", "[::1]")
    assert settings.cors_origins == ()
    assert not settings.log_contents


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.2", "example.com", "", "127.0.0.1.nip.io"]
)
def test_anonymous_is_refused_where_others_can_reach_it(host):
    with pytest.raises(ConfigError, match="without authentication"):
        ServerSettings.from_environment(host=host)
    assert ServerSettings.from_environment(host=host, allow_anonymous_anywhere=True).host == host
    assert ServerSettings.from_environment(host=host, auth="api-key").host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_these_are_this_machine(host):
    assert is_loopback(host)
    assert ServerSettings.from_environment(host=host).is_anonymous


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS512", "rs256", "RS256,none"])
def test_an_algorithm_that_a_public_key_could_forge_is_refused(monkeypatch, algorithm):
    monkeypatch.setenv("BATHYSPHERE_OIDC_ALGORITHMS", algorithm)
    with pytest.raises(ConfigError, match="BATHYSPHERE_OIDC_ALGORITHMS"):
        ServerSettings.from_environment()


@pytest.mark.parametrize(
    "url",
    [
        "http://issuer.example",
        "ftp://x",
        "issuer.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://127.0.0.1@evil.example",
        "http://[::1].evil.example",
        "https://",
    ],
)
def test_keys_come_over_https(url):
    with pytest.raises(ConfigError, match="https"):
        ServerSettings.from_environment(oidc_issuer=url)


def test_anonymous_anywhere_takes_no_name_that_was_not_allowed():
    open_to_all = ServerSettings(host="0.0.0.0", allow_anonymous_anywhere=True)
    assert "localhost" in open_to_all.hosts()
    named = ServerSettings(
        host="0.0.0.0", allow_anonymous_anywhere=True, allowed_hosts=("lab.example",)
    )
    assert named.hosts() == ("lab.example",)


def test_a_variable_is_named_in_the_sentence_and_its_value_is_not(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_PORT", "s3cret")
    with pytest.raises(ConfigError) as refusal:
        ServerSettings.from_environment()
    assert "BATHYSPHERE_PORT" in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_addresses_with_passwords_are_not_shown():
    settings = ServerSettings.from_environment(database_url="postgresql://a:s3cret@db/x")
    assert "s3cret" not in repr(settings)


def test_every_field_says_what_it_is_for():
    assert [n for n, f in ServerSettings.model_fields.items() if not f.description] == []


def test_a_flag_comes_before_the_environment(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_PORT", "9000")
    assert ServerSettings.from_environment(port=None).port == 9000
    assert ServerSettings.from_environment(port=9001).port == 9001


def test_names_are_separated_by_commas(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_CORS_ORIGINS", "https://a.example, https://b.example,")
    origins = ServerSettings.from_environment().cors_origins
    assert origins == ("https://a.example", "https://b.example")


def test_every_setting_is_in_the_document():
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs" / "serve.md").read_text(encoding="utf-8")
    for name, field in ServerSettings.model_fields.items():
        assert f"| `BATHYSPHERE_{name.upper()}` |" in text
        assert field.description in text
