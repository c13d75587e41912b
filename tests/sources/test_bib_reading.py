"""A .bib file as programs write it: fields without LaTeX, names, files in each form, broken entries, encodings."""

from pathlib import Path

import pytest

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Metadata, Paper
from ragscience.sources.bib_reading import joined, read_bib

LIBRARY = r"""
@string{nips = "Advances in Neural Information Processing Systems"}
@comment{jabref-meta: databaseType:bibtex;}
@inproceedings{vaswani2017attention,
  title = {Attention {Is} All You Need: {\"U}ber $\alpha$ \& {\'e}tude, 50\%},
  author = {Vaswani, Ashish and {The {LaTeX} Team} and van den Driessche, Jr., George and others},
  booktitle = nips, year = 2017, pages = {1--9}, keywords = {a, b; c}, groups = {Reading},
  url = {https://a.b/~x\_y%20}, eprint = {1706.03762v7}, archiveprefix = {arXiv}
}
@proceedings{book, title = {The Book}, year = {1999}}
@inproceedings{chapter, title = {A Chapter}, crossref = {book}}
@article{scholar, title = {Scholar}, journal = {arXiv preprint arXiv:2005.14165}, year = {2020}}
@article{corr, title = {DBLP}, journal = {CoRR}, volume = {abs/2103.00020}}
@phdthesis{thesis, title = {T}, school = {ETH}, date = {2021-05-06}, doi = {https://doi.org/10.3929/ethz\_1}}
"""


def read(tmp_path, text, name="refs.bib"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_bib(path)


def test_fields_are_plain_text(tmp_path):
    known = {one.metadata.citation_key: one.metadata for one in read(tmp_path, LIBRARY).entries}
    paper = known["vaswani2017attention"]
    assert paper.title == "Attention Is All You Need: Über α & étude, 50%"
    assert paper.authors == ("Ashish Vaswani", "The LaTeX Team", "George van den Driessche Jr.")
    assert (paper.year, paper.pages, paper.arxiv_id) == (2017, "1-9", "1706.03762v7")
    assert paper.venue == "Advances in Neural Information Processing Systems"
    assert (paper.tags, paper.collections, paper.item_type) == (("a", "b", "c"), ("Reading",), "conferencePaper")
    assert paper.url == "https://a.b/~x_y%20"
    assert (known["chapter"].venue, known["chapter"].year) == ("The Book", 1999)
    assert known["scholar"].arxiv_id == "2005.14165"
    assert known["corr"].arxiv_id == "2103.00020"
    thesis = known["thesis"]
    assert (thesis.kind, thesis.venue, thesis.published, thesis.year) == ("phdthesis", "ETH", "2021-05-06", 2021)
    assert thesis.doi == "10.3929/ethz_1"


def test_a_broken_entry_is_named_and_the_others_are_read(tmp_path):
    first, second = "@article{a, title={A}}\n", "@article{b,\n title={No end\n year=1\n@article{c, title={C}}\n"
    found = read(tmp_path, f"{first}{second}@article{{a, title={{Again}}}}")
    assert [one.metadata.title for one in found.entries] == ["A", "C"]
    assert found.warnings == ("refs.bib: 2 entries left out, broken or there twice: line 2, line 6.",)


@pytest.mark.parametrize("text", ["{", "\\", "$", "\\x{", "{" * 5000, "\\'", "$" * 99, "\\begin{a}", "%", "\\verb|"])
def test_any_latex_is_read(tmp_path, text):
    found = read(
        tmp_path, f"@article{{a, title = {{ok}}}}\n@article{{b, title = {{x {text} y}}, author = {{{text}}}}}\n"
    )
    assert found.entries[0].metadata.title == "ok"


def test_encodings(tmp_path):
    entry = "@article{a, title={Über}}"
    for raw in (entry.encode(), entry.encode("utf-8-sig"), f"% Encoding: windows-1252\n{entry}".encode("cp1252")):
        assert read(tmp_path, raw).entries[0].metadata.title == "Über"
    for raw in (
        entry.encode("latin-1"),
        f"% Encoding: nonesuch\n{entry}".encode(),
        f"% Encoding: ascii\n{entry}".encode(),
    ):
        with pytest.raises(UsageError, match=r"refs.bib is not in (UTF-8|nonesuch|ascii)"):
            read(tmp_path, raw)
    for raw in (b"", b"no entries", b"@comment{x}"):
        with pytest.raises(NothingFound):
            read(tmp_path, raw)
    with pytest.raises(UsageError):
        read_bib(tmp_path)


@pytest.mark.parametrize(
    "field",
    [":sub/a b.pdf:PDF",
     "desc:sub/a b.pdf:application/pdf", "sub/a b.pdf", "gone.pdf;sub/a b.pdf", r"{root}/sub/a b.pdf",
     r":{root}/sub/a b.pdf:pdf", "Snapshot:sub/page.html:text/html;Full Text:sub/a b.pdf:application/pdf",
     r"x\:y:sub/a b.pdf:PDF", "MENDELEY"],
)  # fmt: skip
def test_files_in_each_form(tmp_path, field):
    (tmp_path / "sub").mkdir()
    pdf = tmp_path / "sub" / "a b.pdf"
    pdf.touch()
    (tmp_path / "sub" / "page.html").touch()
    field = field.replace("{root}", str(tmp_path)).replace("MENDELEY", f":{str(pdf)[1:]}:pdf")
    entries = read(tmp_path, f"@article{{a, title={{A}}, file={{{field}}}}}").entries
    assert [*joined(entries, (), [tmp_path])[0]] == [pdf.resolve()]


def test_the_folders_that_jabref_names_come_before_the_files_own(tmp_path):
    meta = "@comment{jabref-meta: fileDirectory:pdf\\;s;}\n@Comment{jabref-meta: fileDirectory-me-laptop:/x y;}"
    found = read(tmp_path, f"@article{{a, title={{A}}}}\n{meta}")
    assert found.folders == (tmp_path / "pdf;s", Path("/x y"), tmp_path)


def test_entries_find_papers_by_doi_arxiv_id_and_title(tmp_path):
    def paper(number, **known):
        path = tmp_path / f"{number}.pdf"
        path.touch()
        return Paper(number, path.name, str(path), f"md{number}", 1, 1, 1, 1, "", "", metadata=Metadata(**known))

    papers = [
        paper(1, doi="10.1000/ABC"), paper(2, arxiv_id="1706.03762v5"), paper(3, title="A title - that is long enough"),
        paper(4, title="There twice, unfortunately"), paper(5, title="There twice, unfortunately"),
        paper(6, doi="10.1000/gone"),
    ]  # fmt: skip
    (tmp_path / "6.pdf").unlink()
    text = """@article{by_doi, doi={10.1000/abc}}
        @article{by_id, eprint={1706.03762}}
        @article{by_title, title={{A Title: that is {Long} Enough}}}
        @article{twice, title={There twice, unfortunately}}
        @article{gone, doi={10.1000/gone}}
        @article{other, title={Nothing of it}}
    """
    found, unfit = joined(read(tmp_path, text).entries, papers, [tmp_path])
    assert {path.name: said.citation_key for path, said in found.items()} == {
        "1.pdf": "by_doi", "2.pdf": "by_id", "3.pdf": "by_title",
    }  # fmt: skip
    assert unfit == ["twice", "gone", "other"]


def test_a_second_file_is_a_part(tmp_path):
    for name in ("a.pdf", "more.pdf"):
        (tmp_path / name).touch()
    entries = read(tmp_path, "@article{a, title={A}, doi={10.1000/x}, file={a.pdf;more.pdf}}").entries
    (paper, part) = joined(entries, (), [tmp_path])[0].values()
    assert (paper.title, paper.part, paper.doi) == ("A", "", "10.1000/x")
    assert (part.title, part.part, part.doi, part.citation_key) == ("A (more)", "more", "", "a")
