"""Attacks on how requests are sent: hosts, origins, methods and paths; each is refused."""

import pytest

from tests.serving.raw_requests import REFUSED, check_problem, exchanged, port_of, request

pytestmark = pytest.mark.usefixtures("unharmed")

JSON = "Content-Type: application/json"
QUESTION = b'{"question": "bees"}'
PLACES = {
    "page": ("GET", "/", b""),
    "api": ("POST", "/api/v1/search", QUESTION),
    "openai": ("GET", "/v1/models", b""),
    "mcp": ("POST", "/mcp", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'),
}

FOREIGN_HOSTS = {
    "another-name": "evil.example:{port}",
    "another-address": "192.168.0.1:{port}",
    "another-port": "127.0.0.1:1",
    "no-port": "127.0.0.1",
    "trailing-dot": "localhost.:{port}",
    "suffix": "127.0.0.1:{port}.evil.example",
    "suffix-before-port": "127.0.0.1.evil.example:{port}",
    "prefix": "evil-127.0.0.1:{port}",
    "userinfo": "127.0.0.1:{port}@evil.example",
    "userinfo-before": "evil.example@127.0.0.1:{port}",
    "decimal-address": "2130706433:{port}",
    "octal-address": "0177.0.0.1:{port}",
    "short-address": "127.1:{port}",
    "every-address": "0.0.0.0:{port}",
    "every-address-6": "[::]:{port}",
    "mapped-address": "[::ffff:127.0.0.1]:{port}",
    "bare-6": "::1:{port}",
    "zone": "[::1%25lo]:{port}",
    "two-in-one": "127.0.0.1:{port}, evil.example",
    "path": "127.0.0.1:{port}/evil",
    "fragment": "evil.example#127.0.0.1:{port}",
    "empty": "",
}


@pytest.mark.parametrize("host", FOREIGN_HOSTS.values(), ids=FOREIGN_HOSTS)
def test_dns_rebinding_by_the_host(address, host):
    line = f"Host: {host.format(port=port_of(address))}"
    for method, target, body in PLACES.values():
        reply = exchanged(address, request(address, target, JSON, method=method, host=line, body=body), method)
        assert reply.status in (400, 421), target
        assert b"RAG" not in reply.body


@pytest.mark.parametrize("second", ["Host: evil.example", "Host: 127.0.0.1:{port}", "host: evil.example"])
def test_dns_rebinding_by_two_hosts(address, second):
    lines = (second.format(port=port_of(address)), JSON)
    for method, target, body in PLACES.values():
        assert exchanged(address, request(address, target, *lines, method=method, body=body)).status in (400, 421)


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_dns_rebinding_without_a_host(address, version):
    reply = exchanged(address, f"GET /api/v1/papers {version}\r\nConnection: close\r\n\r\n".encode())
    assert reply.status in (400, 421)


@pytest.mark.parametrize("target", ["http://evil.example/api/v1/papers", "http://evil.example/", "//evil.example/"])
def test_dns_rebinding_by_the_request_line(address, target):
    reply = exchanged(address, request(address, target))
    assert reply.status in REFUSED
    assert b"papers" not in reply.body.lower()


@pytest.mark.parametrize("name", ["X-Forwarded-Host", "X-Host", "Forwarded", "X-Original-URL", "X-Rewrite-URL"])
def test_dns_rebinding_by_a_proxys_header_changes_nothing(address, name):
    wrong = exchanged(address, request(address, "/healthz", f"{name}: 127.0.0.1:{port_of(address)}", host="Host: x"))
    assert wrong.status == 421
    right = exchanged(address, request(address, "/healthz", f"{name}: evil.example"))
    assert right.status == 200
    assert b"evil" not in right.body + bytes(right.headers)


@pytest.mark.parametrize("host", ["LOCALHOST:{port}", "127.0.0.1:{port}", "[::1]:{port}"])
def test_its_own_names_are_known_in_any_case(address, host):
    line = f"Host: {host.format(port=port_of(address))}"
    assert exchanged(address, request(address, "/healthz", host=line)).status == 200


FOREIGN_ORIGINS = {
    "another-site": "https://evil.example",
    "null": "null",
    "empty": "",
    "another-port": "http://127.0.0.1:1",
    "no-port": "http://127.0.0.1",
    "suffix": "http://127.0.0.1:{port}.evil.example",
    "prefix": "http://evil-127.0.0.1:{port}",
    "userinfo": "http://127.0.0.1:{port}@evil.example",
    "another-scheme": "ftp://127.0.0.1:{port}",
    "file": "file://",
    "extension": "chrome-extension://abcdefghijklmnop",
    "trailing-slash": "http://127.0.0.1:{port}/",
    "trailing-dot": "http://localhost.:{port}",
    "two": "http://127.0.0.1:{port} https://evil.example",
}
EFFECTS = ("/api/v1/ask", "/api/v1/uploads", "/v1/chat/completions", "/mcp")


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS.values(), ids=FOREIGN_ORIGINS)
def test_a_page_of_another_origin(client, address, origin):
    headers = {"Origin": origin.format(port=port_of(address))}
    for path in EFFECTS:
        response = client.post(path, json={"question": "bees"}, headers=headers)
        assert response.status_code == 403, path
        check_problem(response)
        assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none, cross-site", ""])
@pytest.mark.parametrize("mode", ["cors", "no-cors", "navigate", "websocket"])
def test_a_page_of_another_site_without_an_origin(client, site, mode):
    response = client.post(
        "/api/v1/ask", json={"question": "x"}, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
    )
    assert response.status_code == 403
    check_problem(response)


@pytest.mark.parametrize("path", ["/api/v1/papers", "/api/v1/conversations", "/v1/models", "/metrics"])
def test_a_script_or_image_tag_of_another_site_reads_nothing(client, path):
    for mode in ("no-cors", "navigate"):
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode}
        check_problem(client.get(path, headers=headers))


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", ""]
)
@pytest.mark.parametrize("path", ["/api/v1/ask", "/api/v1/search", "/v1/chat/completions", "/api/v1/graph"])
def test_csrf_by_a_form(client, path, kind):
    """What a page can send without asking first is not read as JSON, whatever it holds."""
    before = client.get("/api/v1/conversations").json()
    response = client.post(path, content=QUESTION, headers={"Content-Type": kind})
    assert response.status_code in (415, 422)
    check_problem(response)
    assert client.get("/api/v1/conversations").json() == before


def test_csrf_by_an_upload_of_another_site(client, served_home):
    before = sorted(path.name for path in (served_home / "papers").iterdir())
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        files = {"files": ("evil.pdf", b"%PDF-1.7 evil")}
        check_problem(client.post("/api/v1/uploads", files=files, headers=headers))
    assert sorted(path.name for path in (served_home / "papers").iterdir()) == before


@pytest.mark.parametrize("path", ["/api/v1/ask", "/api/v1/ask/events", "/api/v1/search", "/api/v1/uploads", "/mcp"])
def test_csrf_by_a_link(client, path):
    response = client.get(path, params={"question": "bees"})
    assert response.status_code == 405
    assert "POST" in response.headers["allow"]
    check_problem(response)


@pytest.mark.parametrize("path", ["/api/v1/ask", "/mcp", "/v1/chat/completions", "/api/v1/papers/" + "0" * 32])
@pytest.mark.parametrize("wanted", ["POST", "DELETE", "PUT"])
def test_a_cors_preflight_gets_no_permission(client, path, wanted):
    for origin in ("https://evil.example", "null"):
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": wanted,
            "Access-Control-Request-Private-Network": "true",
        }
        response = client.options(path, headers=headers)
        assert response.status_code == 403
        assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "DEBUG", "PUT", "PATCH", "PROPFIND", "BREW", "get", "A" * 5000])
@pytest.mark.parametrize("path", ["/api/v1/papers", "/mcp", "/healthz"])
def test_unknown_methods(address, method, path):
    reply = exchanged(address, request(address, path, "X-Secret: 12345", method=method), "GET")
    assert reply.status in REFUSED
    assert b"12345" not in reply.body


@pytest.mark.parametrize("target", ["evil.example:443", "127.0.0.1:22"])
def test_the_server_is_no_proxy(address, target):
    assert exchanged(address, request(address, target, method="CONNECT"), "GET").status in REFUSED


TRAVERSALS = {
    "plain": "../../../../etc/passwd",
    "encoded": "%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "double-encoded": "%252e%252e%252f%252e%252e%252fetc%252fpasswd",
    "backslash": "..\\..\\..\\etc\\passwd",
    "encoded-backslash": "..%5c..%5cetc%5cpasswd",
    "nul": "index.html%00.pdf",
    "overlong-utf-8": "%c0%ae%c0%ae%c0%af%c0%ae%c0%ae%c0%afetc%c0%afpasswd",
    "bad-utf-8": "%ff%fe",
    "drive": "C:/Windows/win.ini",
    "absolute": "/etc/passwd",
    "file-url": "file:///etc/passwd",
    "semicolon": "..;/..;/etc/passwd",
    "dots": "....//....//etc/passwd",
    "source": "../page_routes.py",
    "percent": "%",
    "very-long": "a" * 20000,
}


@pytest.mark.parametrize("path", TRAVERSALS.values(), ids=TRAVERSALS)
def test_a_path_out_of_the_folder(address, path):
    for around in ("/page/{}", "/api/v1/papers/{}/file", "/api/v1/answers/{}", "/api/v1/jobs/{}", "/v1/models/{}"):
        reply = exchanged(address, request(address, around.format(path)))
        assert reply.status in REFUSED, around
        assert b"root:" not in reply.body
        assert b"import " not in reply.body


@pytest.mark.parametrize(
    "target",
    [
        "/../etc/passwd", "/.git/config", "/.env", "/%2e%2e/%2e%2e/etc/passwd", "/page", "/docs", "/redoc", "*",
        "/papers/bees.pdf",
    ],
)  # fmt: skip
def test_nothing_else_is_served(address, target):
    assert exchanged(address, request(address, target)).status in REFUSED


@pytest.mark.parametrize("md5", ["0" * 33, "0" * 5000, "A" * 32, "%00" * 32, "0" * 31 + "%27", "٠" * 32])
def test_ids_are_never_taken_raw(client, md5):
    for path in (f"/api/v1/papers/{md5}", f"/api/v1/papers/{md5}/file", f"/api/v1/papers/{md5}/outline"):
        assert client.get(path).status_code in (404, 422)
    assert client.delete(f"/api/v1/papers/{md5}").status_code in (404, 405, 422)


@pytest.mark.parametrize(
    "number", ["-1", "0", "1.5", "1e3", "9" * 30, "9223372036854775808", "NaN", "0x10", "1.0", "+1", "01", "1_0", "１"]
)
def test_conversation_and_page_numbers(client, papers, number):
    for path in (f"/api/v1/conversations/{number}", f"/api/v1/papers/{next(iter(papers))}/pages/{number}"):
        response = client.get(path)
        assert response.status_code in (404, 422)
