"""Lists of keys: what is accepted, what is refused, and that no key is in a message."""

import base64
import hmac

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bathysphere.core.errors import ConfigError
from bathysphere.engine.encryption.cipher import Encryption
from bathysphere.engine.encryption.keys import MasterKeys
from bathysphere.engine.encryption.work import open_work, seal_work
from bathysphere.engine.errors import DecryptionFailed, EncryptionKeyMissing
from bathysphere.engine.records import Work

A, B = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
PLACE = ("channel", "t", "", "c", "1")


def test_the_first_key_encrypts_and_all_decrypt():
    old, both = (Encryption(MasterKeys.parse(text)) for text in (f"a:{A}", f"b:{B}, a:{A}"))
    kind, sealed = old.tenant("t").seal_typed("bytes", b"x", PLACE)
    assert kind == "bytes+aesgcm.a"
    assert both.writer == "b"
    assert both.tenant("t").open_typed(kind, sealed, PLACE) == ("bytes", b"x")


def test_a_file_has_a_key_per_line(tmp_path):
    file = tmp_path / "keys"
    file.write_text(f"# made in November\nb:{B}\n\na:{A}  # before\n")
    assert [key.key_id for key in MasterKeys.read(file).keys] == ["b", "a"]
    with pytest.raises(ConfigError, match="Cannot read"):
        MasterKeys.read(tmp_path / "missing")


def test_plain_in_the_first_place_only_reads():
    keys = MasterKeys.parse(f"plain,a:{A}")
    assert keys.writer is None
    assert Encryption(keys).tenant("t").seal_typed("bytes", b"x", PLACE) == ("bytes", b"x")


@pytest.mark.parametrize(
    "text",
    [
        "", " , ", "plain", A, f":{A}", f"A:{A}", f"a b:{A}", "a:", "a:x", f"a:{A[:-4]}",
        f"a:{A}==", f"a:{A},a:{B}", f"a:{A},b:{A}", f"a:{A},plain", f"plain:{A}", f"{'x' * 33}:{A}",
    ],
)  # fmt: skip
def test_anything_else_is_refused_without_showing_the_key(text):
    with pytest.raises(ConfigError) as refused:
        MasterKeys.parse(text)
    assert A[:8] not in str(refused.value)
    assert refused.value.hint


def test_keys_are_in_no_representation():
    keys = MasterKeys.parse(f"a:{A}")
    assert A not in repr(keys)
    assert repr(bytes([1]) * 32) not in repr(keys)


def test_no_key_means_no_reading():
    kind, sealed = Encryption(MasterKeys.parse(f"a:{A}")).tenant("t").seal_typed("b", b"x", PLACE)
    for other in (Encryption(), Encryption(MasterKeys.parse(f"b:{B}"))):
        with pytest.raises(EncryptionKeyMissing, match="'a'"):
            other.tenant("t").open_typed(kind, sealed, PLACE)


@pytest.mark.parametrize("value", [0, False, "", "x", 2**70, 1.5, {"a": [1]}, [], {}])
def test_every_json_value_comes_back(value):
    cipher = Encryption(MasterKeys.parse(f"a:{A}")).tenant("t")
    sealed = cipher.seal_json(value, PLACE)
    assert list(sealed) == ["$sealed"]
    assert cipher.open_json(sealed, PLACE) == value


def test_what_only_looks_sealed_is_data():
    cipher = Encryption().tenant("t")
    for value in ({"$sealed": "no"}, {"$sealed": 1}, {"$sealed": "x", "more": 1}):
        assert cipher.open_json(value, PLACE) == value


@pytest.mark.parametrize(
    "work",
    [
        Work(input={"a": 1}, metadata={"m": 1}, webhook="https://a.example"),
        Work(input={}),
        Work(input=[]),
        Work(resume={"q": {"yes": True}, "r": None}),
        Work(update={"x": 1}, goto=({"node": "n", "arg": {"x": 1}}, "m"), context={"c": 1}),
        Work(),
    ],
)
def test_the_work_of_a_run_comes_back(work):
    cipher = Encryption(MasterKeys.parse(f"a:{A}"), is_strict=True).tenant("t")
    where = {"thread_id": "t", "run_id": "r"}
    sealed = seal_work(work.to_json(), cipher, **where)
    assert Work.from_json(open_work(sealed, cipher, **where)) == work
    assert sealed.get("webhook") == work.webhook
    assert not {"a", "x", "c", "yes"} & set(str(sealed).replace('"', "'").split("'"))


def test_strictness_refuses_the_work_of_before():
    cipher = Encryption(MasterKeys.parse(f"a:{A}"), is_strict=True).tenant("t")
    with pytest.raises(DecryptionFailed):
        open_work(Work(input={"a": 1}).to_json(), cipher, thread_id="t", run_id="r")


def test_the_stored_form_can_be_read_by_other_means():
    """HKDF-SHA256 with the tenant, AES-256-GCM with the place: without our code."""
    master = bytes([1]) * 32
    prk = hmac.digest(bytes(32), master, "sha256")
    keys = {
        tenant: hmac.digest(prk, b"bathysphere/contents/v1/" + tenant.encode() + b"\x01", "sha256")
        for tenant in ("acme", "other")
    }
    cipher = Encryption(MasterKeys.parse(f"a:{A}")).tenant("acme")
    _, sealed = cipher.seal_typed("msgpack", b"words", PLACE)
    place = b'["acme","channel","t","","c","1","msgpack"]'
    assert AESGCM(keys["acme"]).decrypt(sealed[:12], sealed[12:], place) == b"words"
    with pytest.raises(InvalidTag):
        AESGCM(keys["other"]).decrypt(sealed[:12], sealed[12:], place)
