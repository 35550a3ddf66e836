"""The settings of Web Push: off by default, and one key for all processes."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.engine.push.keys import ServerKey
from bathysphere.server.process.assembly import push_options
from bathysphere.server.process.settings import ServerSettings

CONTACT = "mailto:operator@example.com"
SECRET = "a secret of thirty-two characters"
SHARED = "postgresql://somewhere/else"


def public_key(settings: ServerSettings) -> str:
    options = push_options(settings)
    return ServerKey(options.secret, contact=options.contact).public


def test_push_is_off_without_a_contact(tmp_path):
    assert push_options(ServerSettings(data_dir=tmp_path, push_secret=SECRET)) is None
    assert not list(tmp_path.iterdir())


def test_one_machine_keeps_a_key_of_its_own(tmp_path):
    settings = ServerSettings(data_dir=tmp_path, push_contact=CONTACT)
    assert public_key(settings) == public_key(settings)
    assert (tmp_path / "push.key").stat().st_mode & 0o777 == 0o600


def test_processes_that_share_a_database_share_the_key(tmp_path):
    settings = ServerSettings(
        data_dir=tmp_path, database_url=SHARED, push_contact=CONTACT, push_secret=SECRET
    )
    assert public_key(settings) == ServerKey(SECRET.encode(), contact=CONTACT).public
    with pytest.raises(ConfigError, match="secret that all processes share"):
        push_options(settings.model_copy(update={"push_secret": None}))


@pytest.mark.parametrize(
    "contact", ["operator@example.com", "mailto:operator", "http://example.com", "mailto:a@b c.de"]
)
def test_a_contact_that_push_services_refuse_is_an_error_at_the_start(monkeypatch, contact):
    monkeypatch.setenv("BATHYSPHERE_PUSH_CONTACT", contact)
    with pytest.raises(ConfigError, match="BATHYSPHERE_PUSH_CONTACT"):
        ServerSettings.from_environment()
