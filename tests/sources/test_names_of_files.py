"""What a server calls a file becomes a name that is one file in one folder, on every system."""

import unicodedata
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.sources.suggested_names import safe_name, suggested_name

URL = httpx.URL("https://example.org/pdf/1706.03762v7?download=1")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("", "1706.03762v7.pdf"),
        ("inline", "1706.03762v7.pdf"),
        ('attachment; filename="paper one.pdf"', "paper one.pdf"),
        ("attachment; filename=paper.PDF", "paper.pdf"),
        ("attachment; filename*=UTF-8''M%C3%BCller%202020.pdf", "Müller 2020.pdf"),
        ("attachment; filename*=no-such-charset''a%FF.pdf", "aÿ.pdf"),
        ('attachment; filename="../../etc/passwd"', "passwd.pdf"),
        ('attachment; filename="..\\\\..\\\\windows\\\\win.ini"', "win.ini.pdf"),
        ('attachment; filename="/etc/passwd"', "passwd.pdf"),
        ("attachment; filename*=UTF-8''..%2F..%2Fa%00b.pdf", "ab.pdf"),
        ('attachment; filename="C:\\\\CON.pdf"', "_CON.pdf"),
        ('attachment; filename="CON.pdf"', "_CON.pdf"),
        ('attachment; filename="nul"', "_nul.pdf"),
        ('attachment; filename="lpt1.tar.pdf"', "_lpt1.tar.pdf"),
        ('attachment; filename="...hidden.pdf"', "hidden.pdf"),
        ('attachment; filename=".."', "paper.pdf"),
        ('attachment; filename=".pdf"', "paper.pdf"),
        ('attachment; filename="a/"', "paper.pdf"),
        ('attachment; filename="a. .pdf"', "a.pdf"),
        ('attachment; filename="a\u202efdp.exe"', "afdp.exe.pdf"),
        ('attachment; filename="what? <is> this|now*.pdf"', "what- -is- this-now-.pdf"),
        ('attachment; filename="' + "x" * 300 + '.pdf"', "x" * 115 + ".pdf"),
        ('attachment; filename="' + "ü" * 300 + '"', "ü" * 57 + ".pdf"),
        ('attachment; filename="~a.pdf"', "~a.pdf"),
    ],
)
def test_names_of_content_disposition(header, name):
    assert suggested_name(header, URL) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a%20b.pdf", "a b.pdf"),
        ("/%2e%2e%2f%2e%2e%2fpasswd", "passwd.pdf"),
        ("/", "paper.pdf"),
        ("/a/", "paper.pdf"),
        ("/%00%ff.pdf", "\ufffd.pdf"),
    ],
)
def test_names_of_urls(path, name):
    assert suggested_name("", httpx.URL("https://example.org" + path)) == name


@given(st.text(max_size=400))
def test_every_name_is_one_file_of_a_folder(text):
    for name in (safe_name(text), suggested_name(f'attachment; filename="{text}"', URL)):
        check(name)
    encoded = quote(text.encode("utf-8", "surrogatepass"), safe="")
    check(suggested_name(f"attachment; filename*=UTF-8''{encoded}", URL))


def check(name):
    assert name.endswith(".pdf")
    assert 5 <= len(name.encode()) <= 120
    assert not set(name) & set('/\\\\<>:"|?*')
    assert name[0] not in ". "
    assert not any(unicodedata.category(character).startswith("C") for character in name)
    assert name.partition(".")[0].strip().lower() not in {"con", "prn", "aux", "nul", "com1", "lpt9"}
    assert safe_name(name) == name
