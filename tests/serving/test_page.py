"""The page's files: what is served, and what is not."""

import hashlib
import re

import pytest

from ragscience.serving.status_routes import FOLDER


def test_the_page_and_everything_that_it_names_is_there(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    named = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert "/page/app.js" in named
    for path in named:
        assert client.get(path).status_code == 200, path


def test_the_page_has_no_inline_script_and_no_inline_style(client):
    text = client.get("/").text
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert re.findall(r"<style|\bstyle=|\bon[a-z]+=", text) == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_a_module_imports_only_what_is_there_and_reads_no_text_as_html(path):
    text = path.read_text()
    for name in re.findall(r'(?:from|import\()\s*"(\./[^"]+)"', text):
        assert (path.parent / name).is_file(), name
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|https?://(?!www\.w3\.org)", text
    )
    assert len(text.splitlines()) <= 350


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("app.js", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_files_have_their_types_and_are_sent_once(client, name, kind):
    first = client.get(f"/page/{name}")
    assert (first.status_code, first.headers["content-type"]) == (200, kind)
    assert first.headers["cache-control"] == "no-cache"
    assert first.content == (FOLDER / name).read_bytes()
    again = client.get(f"/page/{name}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head(f"/page/{name}").headers["content-length"] == str(len(first.content))


def test_the_code_of_others_is_as_they_wrote_it():
    vendor = FOLDER / "vendor"
    sums = dict(reversed(line.split("  ")) for line in (vendor / "SHA256SUMS").read_text().splitlines())
    files = {path.relative_to(vendor).as_posix(): path for path in vendor.glob("*/**/*") if path.is_file()}
    assert set(sums) == set(files)
    for name, path in files.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[name], name
    told = (vendor / "README.md").read_text()
    for folder in (path for path in vendor.iterdir() if path.is_dir()):
        assert f"`{folder.name}/LICENSE`" in told
        assert (folder / "LICENSE").is_file()


def luminance(colour):
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_and_controls_can_be_told_from_their_ground(theme):
    """WCAG 2.2 AA: 4.5 for text, 3 for the edges of controls."""
    named = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (FOLDER / "page.css").read_text())
    colours = {name: pair[theme] for name, *pair in named}
    for ground in ("back", "card", "raised"):
        for text in ("ink", "dim", "accent", "good", "doubt", "bad"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        assert contrast(colours["control"], colours[ground]) >= 3, ground
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
