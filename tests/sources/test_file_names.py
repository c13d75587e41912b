"""What a server calls a file becomes a name that is one file in one folder, on every system."""

import httpx
import pytest

from ragscience.core.records import Metadata
from ragscience.sources.downloads import file_name, suggested_name

URL = httpx.URL("https://example.org/pdf/1706.03762v7?download=1")


def named(header, url=URL):
    """The name in papers/ of a PDF of which nothing but the server's headers is known."""
    return file_name(Metadata(), suggested_name(header, url))


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("", "1706-03762v7.pdf"),
        ("inline", "1706-03762v7.pdf"),
        ('attachment; filename="paper one.pdf"', "paper-one.pdf"),
        ("attachment; filename=paper.PDF", "paper.pdf"),
        ("attachment; filename*=UTF-8''M%C3%BCller%202020.pdf", "muller-2020.pdf"),
        ("attachment; filename*=no-such-charset''a%FF.pdf", "ay.pdf"),
        ('attachment; filename="../../etc/passwd"', "passwd.pdf"),
        ('attachment; filename="..\\\\..\\\\windows\\\\win.ini"', "win-ini.pdf"),
        ('attachment; filename="/etc/passwd"', "passwd.pdf"),
        ('attachment; filename="C:\\\\CON.pdf"', "con-paper.pdf"),
        ('attachment; filename="nul"', "nul-paper.pdf"),
        ('attachment; filename="...hidden.pdf"', "hidden.pdf"),
        ('attachment; filename=".."', "paper.pdf"),
        ('attachment; filename=".pdf"', "paper.pdf"),
        ('attachment; filename="a/"', "paper.pdf"),
        ('attachment; filename="a. .pdf"', "a.pdf"),
        ('attachment; filename="what? <is> this|now*.pdf"', "what-is-this-now.pdf"),
        ('attachment; filename="' + "x" * 300 + '.pdf"', "x" * 60 + ".pdf"),
        ('attachment; filename="~a.pdf"', "a.pdf"),
    ],
)
def test_names_of_content_disposition(header, name):
    assert named(header) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a%20b.pdf", "a-b.pdf"),
        ("/%2e%2e%2f%2e%2e%2fpasswd", "passwd.pdf"),
        ("/", "paper.pdf"),
        ("/a/", "paper.pdf"),
        ("/%00%ff.pdf", "paper.pdf"),
    ],
)
def test_names_of_urls(path, name):
    assert named("", httpx.URL("https://example.org" + path)) == name
