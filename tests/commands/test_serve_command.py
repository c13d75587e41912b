"""`query.py serve` and `query.py mcp` as processes: how they begin, what they refuse, how they end."""

import json
import re
import signal
import ssl
import sys
import warnings
from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie

import anyio
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.conftest import ROOT
from tests.output_schemas import check_output
from tests.serving.server_process import server_process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_says_where_it_is_and_ends_in_order(library, number):
    with server_process(library) as (process, url):
        with httpx.Client(base_url=url, timeout=60) as client:
            while True:  # it takes connections before it serves them
                if client.get("/readyz").json() == {"status": "ok", "papers": 3}:
                    break
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(60) == 0
        assert "Traceback" not in rest


def test_mcp_speaks_over_stdin_and_stdout(library):
    async def names():
        command = StdioServerParameters(
            command=sys.executable, args=[str(ROOT / "query.py"), "mcp", "--home", str(library)]
        )
        async with Client(stdio_client(command)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert {"search", "fetch"} <= set(anyio.run(names))


HOSTS = ("0.0.0.0", "::", "10.0.0.1", "example.org", "127.0.0.1.example.org")
BEHIND = ("--behind-proxy", "--name", "papers.lab")


@pytest.mark.parametrize("host", HOSTS)
def test_other_machines_are_served_over_tls_alone(asked, host):
    ran = asked.query("serve", "--host", host, "--name", "papers.lab")
    assert ran.code == 2
    assert "from other machines" in ran.err
    assert "--tls-cert FILE" in ran.err


@pytest.mark.parametrize("host", [*HOSTS, "127.0.0.1"])
def test_other_machines_are_served_with_tokens_alone(asked, host):
    ran = asked.query("serve", "--host", host, *BEHIND)
    assert ran.code == 2
    assert ran.err == (
        "error: Others can reach this server, and nobody has a token.\n       python query.py serve token add NAME\n"
    )


def test_a_server_for_others_has_a_name(own):
    own.query("serve", "token", "add", "ana")
    for options in (["--behind-proxy"], ["--behind-proxy", "--host", "0.0.0.0"]):
        ran = own.query("serve", *options)
        assert ran.code == 2
        assert "--name papers.lab" in ran.err


def test_tokens_are_made_listed_and_revoked(own):
    ran = own.query("serve", "token", "add", "ana", "--role", "writer")
    assert (ran.code, bool(re.fullmatch("ragscience_[0-9a-f]{64}\n", ran.out))) == (0, True)
    assert ran.out.strip() not in ran.err
    for command in (["serve", "token"], ["serve", "token", "list"]):
        shown = own.query(*command)
        assert re.fullmatch(r"ana\twriter\t\d{4}-\d\d-\d\d \d\d:\d\d\n", shown.out)
    listed = json.loads(own.query("serve", "token", "list", "--json").out)
    check_output(listed, "serve token list")
    assert [(each["name"], each["role"]) for each in listed["tokens"]] == [("ana", "writer")]
    assert own.query("serve", "token", "add", "ana").code == 2
    assert own.query("serve", "token", "add", "ben", "--role", "king").code == 2
    assert own.query("serve", "token", "add", "../ben").code == 2
    assert own.query("serve", "token", "revoke", "ana").code == 0
    assert own.query("serve", "token", "revoke", "ana").code == 4
    assert own.query("serve", "token", "list").out == ""


def certificate(folder):
    """Files of a certificate for papers.lab, signed by itself, by the options that take them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "papers.lab")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("papers.lab"), x509.DNSName("localhost")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return {"--tls-cert": str(folder / "cert.pem"), "--tls-key": str(folder / "key.pem")}


def test_a_browser_signs_in_over_tls(own, tmp_path):
    token = own.query("serve", "token", "add", "ana").out.strip()
    files = certificate(tmp_path)
    options = [word for pair in files.items() for word in pair]
    with server_process(own.home, None, *options, "--host", "127.0.0.1", "--name", "localhost") as (_, url):
        assert url.startswith("https://localhost:")
        trusting = ssl.create_default_context(cafile=files["--tls-cert"])
        with httpx.Client(base_url=url, verify=trusting, timeout=60) as client:
            assert client.get("/api/v1/papers").status_code == 401
            response = client.post("/api/v1/session", json={"token": token})
            (cookie,) = SimpleCookie(response.headers["set-cookie"]).values()
            assert cookie.key.startswith("__Host-")
            assert cookie["secure"]
            assert client.get("/api/v1/papers").status_code == 200
        old = ssl.create_default_context(cafile=files["--tls-cert"])
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with httpx.Client(base_url=url, verify=old, timeout=60) as client, pytest.raises(httpx.ConnectError):
            client.get("/healthz")


def test_a_proxy_says_who_asks_and_how(own):
    token = own.query("serve", "token", "add", "ana").out.strip()
    with server_process(own.home, None, *BEHIND) as (_, url):
        headers = {"Host": "papers.lab", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        with httpx.Client(base_url=url, timeout=60, headers=headers) as client:
            assert client.post("/api/v1/session", json={"token": "x"}).status_code == 401
            response = client.post("/api/v1/session", json={"token": token})
            assert response.status_code == 200
            assert "__Host-" in response.headers["set-cookie"]
            assert "; Secure" in response.headers["set-cookie"]
