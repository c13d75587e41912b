"""Which addresses are asked, which are not, and that the connection goes where it was allowed to go."""

import ipaddress
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragscience.core.errors import SourceError
from ragscience.sources.allowed_addresses import (
    NetworkRules,
    allowed_addresses,
    checked_url,
    host_of,
    port_of,
    why_refused,
)
from tests.sources.fault_server import Reply
from tests.sources.fetching import RULES, fetcher

PUBLIC = "93.184.215.14"
STRICT = replace(RULES, allow_loopback=False)
BESIDE_GLOBAL = [
    ipaddress.ip_network(net)
    for net in (
        "224.0.0.0/4", "192.88.99.0/24", "192.0.0.0/24", "168.63.129.16/32",
        "ff00::/8", "::/3", "4000::/2", "8000::/1", "2001::/23", "2002::/16", "3fff::/20",
    )
]  # fmt: skip
"""What `is_global` says yes to in one version of Python or another, and we do not: multicast, relays, forms that hide
an IPv4 address, a cloud's service, and what nobody has been given yet."""


@given(st.ip_addresses())
@example(ipaddress.ip_address("168.63.129.16"))
@example(ipaddress.ip_address("64:ff9b::8.8.8.8"))
@example(ipaddress.ip_address("2002:808:808::"))
@example(ipaddress.ip_address("fd00:ec2::254"))
@example(ipaddress.ip_address("2606:4700::1"))
def test_what_is_allowed_is_what_the_standard_library_calls_global_but_for_named_exceptions(address):
    excepted = any(address in net for net in BESIDE_GLOBAL)
    assert (why_refused(str(address), allow_loopback=False) == "") == (address.is_global and not excepted)
    allowed_too = why_refused(str(address), allow_loopback=True) == ""
    assert allowed_too == (address.is_loopback or (address.is_global and not excepted))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_disguise_is_never_allowed(address):
    number = int(address)
    forms = [
        f"::ffff:{address}",
        f"::{address}",
        f"64:ff9b::{address}",
        f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1",
        str(ipaddress.IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF))),
    ]
    assert all(why_refused(form, allow_loopback=True) for form in forms if form not in ("::0.0.0.1",))


def test_this_machine_is_allowed_by_its_loopback_addresses_alone():
    assert [why_refused(one, allow_loopback=True) for one in ("127.0.0.1", "127.9.9.9", "::1")] == ["", "", ""]
    assert why_refused("0.0.0.0", allow_loopback=True)
    assert why_refused("::ffff:127.0.0.1", allow_loopback=True)


@pytest.mark.parametrize(("port", "more", "said"), [(8080, {}, ""), (80, {"is_encrypted": False}, ", not encrypted")])
def test_other_ports_and_what_is_not_encrypted_are_for_this_machine_alone(port, more, said):
    both = [PUBLIC, "127.0.0.1"]
    assert allowed_addresses("a.test", port, lambda *_: both, allow_loopback=True, **more) == ["127.0.0.1"]
    with pytest.raises(SourceError, match=f"port {port}{said}"):
        allowed_addresses("a.test", port, lambda *_: [PUBLIC], allow_loopback=True, **more)


@pytest.mark.parametrize(
    ("api", "is_allowed"),
    [
        ("https://export.arxiv.org/api/query", False),
        ("http://10.0.0.1/api", False),
        ("http://[::ffff:127.0.0.1]/api", False),
        ("http://localhost.example.org/api", False),
        ("http://127.0.0.1:8000/api", True),
        ("http://localhost:8000/api", True),
        ("http://[::1]:8000/api", True),
    ],
)
def test_this_machine_is_asked_only_where_the_api_is_on_it(api, is_allowed):
    assert NetworkRules.beside(api).allow_loopback == is_allowed
    assert (NetworkRules.beside(api).pause_s == 3) != is_allowed


@pytest.mark.parametrize(
    "text",
    [
        "http://example.org/a.pdf",
        "file:///etc/passwd",
        "ftp://example.org/",
        "data:application/pdf,x",
        "example.org/a.pdf",
        "",
        "https:///a.pdf",
        "https://a..b/",
        "https://a_b .test/",
        "https://a%2eb.test/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://127.1/",
        "https://127.0.0.1.0/",
        "https://[fe80::1%25eth0]/",
        "https://[::1",
        "https://me@example.org/",
        "https://:secret@example.org/",
        "https://example.org\\@127.0.0.1/",
        "https://me:sec/ret@example.org/",
        "https://example.org:99999/",
        "https://example.org:x/",
        "https://example.org/a\tb",
        "https://exam\x00ple.org/",
        "https://example.org/" + "a" * 4000,
        "https://１２７.0.0.1/",
    ],
)  # fmt: skip
def test_such_urls_are_not_fetched(text):
    with pytest.raises(SourceError) as caught:
        checked_url(text, STRICT)
    assert caught.value.reason == "bad-url"
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    assert "secret" not in str(caught.value)
    assert "sec/ret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "url", "host", "port"),
    [
        ("https://arxiv.org/pdf/1706.03762v7", "https://arxiv.org/pdf/1706.03762v7", "arxiv.org", 443),
        (" https://ARXIV.org./pdf?a=1#p.3 ", "https://arxiv.org/pdf?a=1", "arxiv.org", 443),
        ("https://example.org:80/a b", "https://example.org:80/a%20b", "example.org", 80),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4", "xn--bcher-kva.example", 443),
        ("https://93.184.215.14/", "https://93.184.215.14/", PUBLIC, 443),
        ("https://[2606:4700:0::1]/", "https://[2606:4700::1]/", "2606:4700::1", 443),
        ("https://1und1.example.x0/", "https://1und1.example.x0/", "1und1.example.x0", 443),
        ("https://example.org/a@b", "https://example.org/a@b", "example.org", 443),
    ],
)
def test_such_urls_are_fetched(text, url, host, port):
    got = checked_url(text, STRICT)
    assert (str(got), host_of(got), port_of(got)) == (url, host, port)


@given(st.text(max_size=60), st.sampled_from(["https://", "http://", ""]))
def test_whatever_is_written_ends_as_a_plain_url_or_one_line(text, scheme):
    try:
        url = checked_url(scheme + text, STRICT)
    except SourceError as error:
        assert str(error).isprintable()
    else:
        assert (url.scheme, url.userinfo, url.fragment) == ("https", b"", "")
        assert checked_url(str(url), STRICT) == url


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:8.8.8.8"])
def test_a_name_that_means_a_forbidden_address_is_not_asked(address, server, tmp_path):
    """Also this machine, where that is not allowed: the server is there and hears nothing."""
    asked = []
    network = fetcher(resolve=lambda host, port: asked.append(host) or [address], allow_loopback=False)
    with pytest.raises(SourceError) as caught, network:
        network.pdf("https://papers.test/a.pdf", tmp_path)
    assert caught.value.reason == "refused-address"
    assert asked == ["papers.test"]
    assert server.requests == []


def test_the_connection_goes_to_the_address_that_was_checked(server, pdf, tmp_path):
    """A name that means something else at each look is looked up once for a request, and what came is what is asked."""
    answers = iter([["127.0.0.1"], ["169.254.169.254"], ["127.0.0.1"]])
    server.on("/a.pdf", Reply(pdf))
    url = f"http://papers.test:{server.port}/a.pdf"
    with fetcher(resolve=lambda host, port: next(answers)) as network:
        got = network.pdf(url, tmp_path)
        assert got.size == len(pdf)
        assert [asked.headers["host"] for asked in server.asked("/a.pdf")] == [f"papers.test:{server.port}"]
        with pytest.raises(SourceError, match="a cloud's metadata service"):
            network.pdf(url, tmp_path)
        assert len(server.asked("/a.pdf")) == 1
        assert next(answers) == ["127.0.0.1"]


def test_each_redirect_is_looked_up_and_checked_anew(server, tmp_path):
    server.on("/a.pdf", Reply(b"", 302, {"Location": f"http://inside.test:{server.port}/b.pdf"}))
    names = {"papers.test": ["127.0.0.1"], "inside.test": ["192.168.1.1"]}
    with fetcher(resolve=lambda host, port: names[host]) as network, pytest.raises(SourceError) as caught:
        network.pdf(f"http://papers.test:{server.port}/a.pdf", tmp_path)
    assert "inside.test is not asked: it means 192.168.1.1, a private network." in str(caught.value)


def test_forbidden_addresses_beside_a_good_one_are_never_connected_to(server, pdf, tmp_path):
    server.on("/a.pdf", Reply(pdf))
    with fetcher(resolve=lambda host, port: ["10.0.0.1", "127.0.0.9", "127.0.0.1"]) as network:
        # Nothing listens at 127.0.0.9, so the next one is tried.
        got = network.pdf(f"http://papers.test:{server.port}/a.pdf", tmp_path)
    assert got.size == len(pdf)


def test_proxies_of_the_environment_are_not_asked(server, pdf, tmp_path, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    url = server.on("/a.pdf", Reply(pdf))
    with fetcher() as network:
        assert network.pdf(url, tmp_path).size == len(pdf)
