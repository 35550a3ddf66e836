"""The connection goes to a number, and TLS is still checked against the name."""

import asyncio
import ipaddress
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from loopback import Web, response

from bathysphere.tools import guard
from bathysphere.tools.errors import FetchFailed
from bathysphere.tools.fetch import Fetcher, FetchRules


def certificate(names: list[x509.GeneralName], folder) -> tuple[str, str]:
    """A certificate that signs itself, for these names."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")


@asynccontextmanager
async def tls_site(names, folder, monkeypatch):
    """A TLS server with such a certificate, which the fetcher trusts, behind site.example."""
    cert, key = certificate(names, folder)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(cert, key)
    monkeypatch.setattr(guard, "_tls", lambda: ssl.create_default_context(cafile=cert))
    here = Web()
    here.answers["/"] = response(b"hello", kind="text/plain")
    server = await asyncio.start_server(here.serve, "127.0.0.1", 0, ssl=theirs)
    port = server.sockets[0].getsockname()[1]
    rules = FetchRules(pinned={"site.example": f"127.0.0.1:{port}"}, timeout_s=5)
    async with Fetcher(rules) as fetcher:
        yield here, fetcher
    server.close()


async def test_the_right_name_passes(tmp_path, monkeypatch):
    names = [x509.DNSName("site.example")]
    async with tls_site(names, tmp_path, monkeypatch) as (here, fetcher):
        assert (await fetcher.get("https://site.example/")).body == b"hello"
        assert "Host: site.example\r\n" in here.asked[0]


@pytest.mark.parametrize(
    "names",
    [
        [x509.DNSName("other.example")],
        [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))],
    ],
    ids=["another name", "the number alone"],
)
async def test_another_name_does_not(names, tmp_path, monkeypatch):
    async with tls_site(names, tmp_path, monkeypatch) as (here, fetcher):
        with pytest.raises(FetchFailed) as failed:
            await fetcher.get("https://site.example/")
        assert failed.value.reason == "network"
        assert here.asked == []
