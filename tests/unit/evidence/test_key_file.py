"""The key file: made whole or not at all, and read by everybody the same way."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.evidence.proof import signing
from bathysphere.evidence.proof.signing import read_key


def test_it_is_made_once_for_its_owner_alone(tmp_path):
    path = tmp_path / "deep" / "research.key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: read_key(path), range(16)))
    assert len(keys) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["research.key"]


def test_a_crash_while_it_is_written_leaves_no_empty_key(tmp_path, monkeypatch):
    path = tmp_path / "research.key"

    class Died(BaseException):
        pass

    def die(size):
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(signing.secrets, "token_hex", lambda size: "x" if size == 8 else die(size))
        with pytest.raises(Died):
            read_key(path)
    assert not path.exists()
    assert len(read_key(path)) == 32


@pytest.mark.parametrize("text", ["", "no key", "ab" * 31, "ZZ" * 32])
def test_something_else_in_the_file_is_an_error(tmp_path, text):
    path = tmp_path / "research.key"
    path.write_text(text)
    with pytest.raises(ConfigError, match="is not a valid key file"):
        read_key(path)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be used"):
        read_key(tmp_path)
