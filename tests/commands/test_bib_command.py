"""`ingest.py bib`: papers get the keys and fields of a .bib file, which answers and `query.py bib` cite them by."""

import pytest

from tests.pdf_factory import make_pdf
from tests.zotero_library import Zotero

SPEED = "How fast do bees fly in fog?"
REFS = r"""@article{wild2019,
  title = {Navigation of Honeybees in Fog}, author = {Wild, Ada and M{\"u}ller, Kim}, year = {2019},
  journal = {Journal of Bees}, doi = {10.1000/bees}, keywords = {fog; radar}
}
@misc{comb/1:x, title = {How combs are built}, author = {Zang, Bo}, year = {2001},
  file = {Full Text:files/7/comb.pdf:application/pdf}}
@article{elsewhere, title = {A paper that is not here}}
@article{broken, title = {No end
"""


@pytest.fixture
def refs(tmp_path):
    make_pdf(
        tmp_path / "refs" / "files" / "7" / "comb.pdf", ["How combs are built\n\nBees build combs of wax in 9 days."]
    )
    path = tmp_path / "refs" / "refs.bib"
    path.write_text(REFS)
    return path


def test_entries_are_joined_and_a_second_run_reads_nothing(own, refs):
    before = {path: path.read_bytes() for path in refs.parent.rglob("*") if path.is_file()}
    ran = own.ingest("bib", refs)
    assert ran.code == 0, ran.err
    lines = ran.err.splitlines()
    assert "refs.bib: 1 entry left out, broken or there twice: line 8." in lines
    assert "refs.bib: 1 entry is about no paper of the library and no file: elsewhere." in lines
    assert "refs.bib: 3 entries, 2 papers found" in lines
    assert "1 added, 1 updated" in ran.err
    bees, comb = (own.papers()[name]["metadata"] for name in ("bees.pdf", "comb.pdf"))
    assert bees["title"] == "Navigation of Honeybees in Fog"
    assert (bees["authors"], bees["year"], bees["venue"]) == (["Ada Wild", "Kim Müller"], 2019, "Journal of Bees")
    assert (bees["tags"], bees["item_type"], bees["citation_key"]) == (["fog", "radar"], "journalArticle", "wild2019")
    assert comb["citation_key"] == "comb/1:x"
    shown = own.ingest("show", "bees.pdf").out
    for line in ("type        journalArticle", "tags        fog, radar", "BibTeX key  wild2019"):
        assert line in shown
    written = own.query("bib").out
    assert "@article{wild2019," in written
    assert "@misc{comb/1:x," in written
    again = own.ingest("bib", refs)
    assert again.err.splitlines()[-1] == "2 known already; the library has 4 papers, 4 passages."
    assert {path: path.read_bytes() for path in refs.parent.rglob("*") if path.is_file()} == before


def test_what_zotero_says_stays_where_the_entry_says_nothing(own, tmp_path, refs):
    zotero = Zotero(tmp_path / "Zotero")
    item = zotero.item("report", title="Wax", collections=[zotero.collection("Bees")], tags=["lent"])
    attached, path = zotero.attach(item, "comb.pdf")
    path.write_bytes((refs.parent / "files" / "7" / "comb.pdf").read_bytes())
    zotero.annotate(attached, 1, "9 days")
    zotero.save()
    own.ingest("zotero", "--data", zotero.folder)
    assert own.ingest("bib", refs).code == 0
    known = own.papers()["comb.pdf"]["metadata"]
    assert (known["title"], known["citation_key"]) == ("How combs are built", "comb/1:x")
    assert (known["collections"], known["tags"]) == (["Bees"], ["lent"])
    assert known["link"].startswith("zotero://")
    assert "9 days" in own.query("search", "days", "--kind", "note").out


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [(b"", 4, "has no entry"), ("@article{a, title={Ü}}".encode("latin-1"), 2, "is not in UTF-8"),
     (b"% Encoding: x-unknown\n@article{a,}", 2, "is not in x-unknown")],
)  # fmt: skip
def test_what_cannot_be_read_is_one_error(own, tmp_path, content, code, said):
    (tmp_path / "a.bib").write_bytes(content)
    ran = own.ingest("bib", tmp_path / "a.bib")
    assert ran.code == code
    assert said in ran.err
    assert len([line for line in ran.err.splitlines() if line.startswith("error: ")]) == 1


def test_answers_cite_by_key(own, refs):
    own.ingest("bib", refs)
    for style, cited in (
        ("pandoc", "[@wild2019, p. {}]"),
        ("latex", r"\cite[p.~{}]{{wild2019}}"),
        ("file", "(bees.pdf, p.{})"),
    ):
        assert cited.format(2) in own.query("ask", SPEED, "--cite", style, "--chat", "fog").out
        brief = own.query("ask", SPEED, "--cite", style, "--brief").out
        assert cited.format(1) in brief or cited.format(2) in brief
        exported = own.query("history", "export", "fog", "--cite", style).out
        assert exported.count(cited.format(2)) >= 1
        assert ("(bees.pdf, p." in exported) == (style == "file")
    typed = f"{SPEED}\n/more\n".encode()
    chat = own.query("chat", "--cite", "pandoc", "--all", stdin=typed).out
    assert chat.count("[@wild2019, p. 2]") >= 2
    assert "(bees.pdf" not in chat
    assert "[@{comb/1:x}" not in own.query("In how many days are combs built?", "--cite", "pandoc").out
    assert "[@comb/1:x, p. 1]" in own.query("In how many days are combs built?", "--cite", "pandoc").out
    assert own.query("ask", SPEED, "--cite", "pandoc", "--json").code == 2
    assert own.query("ask", SPEED, "--cite", "apa").code == 2
