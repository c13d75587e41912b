"""Which addresses may be fetched from (protection against server-side request forgery).

A URL comes from a person, a feed or a redirect, and none of them may reach this machine or the network around it. A
host name is resolved once, `why_refused` judges each address, and the connection goes to one that passed
(`HttpClient`), so that a name that resolves differently a moment later changes nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from ragscience.core.errors import SourceError, shown_address

Resolver = Callable[[str, int], Sequence[str]]
"""Gives the IP addresses of a host name, best first, for a port. Raises OSError."""

_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 4000
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

_KINDS = {
    "is_loopback": "this machine itself",
    "is_unspecified": "this machine itself",
    "is_link_local": "link-local",
    "is_multicast": "multicast",
    "is_private": "a private network",
}
"""Properties of `ipaddress` addresses, and what a message calls them."""
_METADATA_SERVICES = frozenset(["168.63.129.16", "169.254.169.254", "fd00:ec2::254"])
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
"""All global IPv6 unicast addresses assigned so far (RFC 4291); mapped IPv4 addresses are outside."""
_NOT_FETCHED = {
    ipaddress.ip_network(network): name
    for network, name in {
        "100.64.0.0/10": "a provider's inner network",
        "192.0.0.0/24": "reserved",
        "192.88.99.0/24": "a 6to4 relay",
        "2001::/23": "reserved",
        "2002::/16": "an IPv4 address in disguise",
        "3fff::/20": "reserved for examples",
    }.items()
}
"""Networks that `is_global` accepts in one version of Python or another, or that have a name of their own."""


@dataclass(frozen=True)
class NetworkRules:
    """Which requests are allowed, how large, how long and how often."""

    allow_loopback: bool = False
    """Whether this machine is allowed, at any port and by http://; no other private address ever is."""
    max_bytes: int = 200 << 20
    """Of the largest PDF: theses with pictures have 100 MB."""
    max_redirects: int = 5
    timeout_s: float = 30.0
    """Seconds until a connection is made, and between two pieces of a response."""
    total_s: float = 900.0
    """Seconds for one file with all its redirects and further tries, without the pauses in between."""
    pause_s: float = 3.0
    """Seconds between the beginnings of two requests to one host; arXiv's terms of use ask for 3."""

    @classmethod
    def beside(cls, api: str) -> NetworkRules:
        """The rules for arXiv's API at that address: where it is on this machine, its files may be, too."""
        host = (urlsplit(api).hostname or "").lower()
        if host == "localhost" or (host and not why_refused(host, allow_loopback=True) and why_refused(host)):
            return cls(allow_loopback=True, pause_s=0.0)
        return cls()


def why_refused(address: str, *, allow_loopback: bool = False) -> str:
    """What is wrong with connecting to an IP address, in a few words, or "" where nothing is."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return "not an IP address"
    if str(number) in _METADATA_SERVICES:
        return "a cloud's metadata service"
    if isinstance(number, ipaddress.IPv6Address):
        if number.scope_id:
            return "link-local"
        if number.ipv4_mapped:
            return "an IPv4 address in disguise"
    if number.is_loopback and allow_loopback:
        return ""
    named = (name for network, name in _NOT_FETCHED.items() if number in network)
    reason = next(named, None) or next((name for kind, name in _KINDS.items() if getattr(number, kind)), "")
    is_global = number.is_global and (number.version == 4 or number in _UNICAST_6)
    return reason or ("" if is_global else "reserved")


def system_resolver(host: str, port: int) -> list[str]:
    """The addresses of a name by the system's resolver, in its order. Raises OSError."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def allowed_addresses(
    host: str, port: int, resolve: Resolver, *, allow_loopback: bool, is_encrypted: bool = True
) -> list[str]:
    """The addresses of a host that may be connected to, best first, at least one.

    Ports other than 80 and 443, and connections that are not encrypted, are allowed on this machine only.
    Raises SourceError with reason "unknown-host", or "refused-address" where none may.
    """
    try:
        addresses = [str(ipaddress.ip_address(host))]
    except ValueError:
        try:
            addresses = list(dict.fromkeys(resolve(host, port)))
        except (OSError, UnicodeError) as error:
            cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise SourceError(
                f"The name {host} cannot be looked up: {cause}.",
                "Check the spelling and the network connection.",
                reason="unknown-host",
            ) from error
    reasons = {address: why_refused(address, allow_loopback=allow_loopback) for address in addresses}
    good = [address for address, reason in reasons.items() if not reason]
    is_usual = port in _PORTS.values() and is_encrypted
    if not is_usual:
        good = [address for address in good if ipaddress.ip_address(address).is_loopback]
    if good:
        return good
    odd = "not encrypted" if port in _PORTS.values() else "not a web server's port"
    address, reason = next(((a, r) for a, r in reasons.items() if r), (f"port {port}", odd))
    means = "is" if address == host else "means"
    raise SourceError(
        f"{host} is not asked: it {means} {address}, {reason}." if reasons else f"The name {host} has no address.",
        "Files are fetched only from public addresses. Download the file yourself and put it into the papers folder.",
        reason="refused-address",
    )


def checked_url(text: str, rules: NetworkRules, base: httpx.URL | None = None) -> httpx.URL:
    """The URL without its fragment, if its text allows it to be fetched; `base` is the URL that redirects to it.

    Only https, no user name or password, a host in its plain form, port 80 or 443; where loopback is allowed, http and
    any port, too. Raises SourceError with reason "bad-url".
    """
    text = text.strip(" \t\r\n")
    if len(text) > _LONGEST_URL:
        raise _bad(text, f"it is longer than {_LONGEST_URL} characters")
    if "\\" in text or any(ord(character) < 33 or ord(character) == 127 for character in text.replace(" ", "")):
        raise _bad(text, "it has a backslash or control characters in it")
    try:
        url = (base.join(text) if base is not None else httpx.URL(text)).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise _bad(text, "it is not a URL") from error
    if url.scheme not in _PORTS:
        raise _bad(text, f"its scheme is {url.scheme or 'missing'}, and only https is fetched")
    if url.scheme == "http" and not rules.allow_loopback:
        raise _bad(text, "it is not encrypted (http)", "Use https://, or download it yourself into the papers folder.")
    if url.userinfo or "@" in url.netloc.decode("ascii", "replace"):
        raise _bad(text, "it carries a user name or a password", "Give the address without them.")
    host = _plain_host(url.raw_host.decode("ascii").lower(), text)
    if url.port is not None and not 0 < url.port < 2**16:
        raise _bad(text, f"there is no port {url.port}", "Give the address with a port up to 65535, or without one.")
    if url.port not in (None, *_PORTS.values()) and not rules.allow_loopback:
        raise _bad(text, f"port {url.port} is not a web server's (80, 443)")
    return url.copy_with(host=host)


def _plain_host(host: str, text: str) -> str:
    """The host without a trailing dot. Raises SourceError for other than a plain name or a plain address.

    Some programs read a name that ends in a number as an IPv4 address (http://2130706433/, http://0x7f.1/,
    http://127.1/): only four decimal numbers are accepted, as in the WHATWG's URL standard.
    """
    if ":" in host:
        try:
            number = ipaddress.IPv6Address(host)
        except ValueError as error:
            raise _bad(text, "its host is not an IPv6 address") from error
        if number.scope_id is not None:
            raise _bad(text, "its host is an address of this machine's own network")
        return str(number)
    host = host.removesuffix(".")
    labels = host.split(".")
    if not host:
        raise _bad(text, "it names no host")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _bad(text, "its host is not a valid name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError as error:
            raise _bad(text, "its host is a number in an unusual form") from error
    return host


def host_of(url: httpx.URL) -> str:
    """The host of a checked URL in ASCII, without brackets."""
    return url.raw_host.decode("ascii")


def port_of(url: httpx.URL) -> int:
    """The port of a checked URL."""
    return url.port or _PORTS[url.scheme]


def _bad(text: str, why: str, fix: str = "Give the https address of a PDF on the web.") -> SourceError:
    return SourceError(f"{shown_address(text) or 'An empty address'} is not fetched: {why}.", fix, reason="bad-url")
