"""Papers that are no PDF: Word, EPUB, web pages, Markdown, LaTeX and plain text; their places are paragraphs."""

import json

import pytest

from ragscience.engine.library_engine import Engine
from ragscience.engine.requests import AskRequest
from ragscience.reading.other_formats import read_other
from ragscience.review.drafts import read_draft
from tests.other_formats import QUESTIONS, converted, packed, write
from tests.pdf_factory import make_pdf

ENDINGS = ("pdf", "html", "epub", "docx", "md", "tex")
TEXT = "The marmot counter found 418 animals on the northern slope during the second week of June.\n"


@pytest.fixture(scope="module")
def engines(made_once):
    """By ending, an engine over a library that has the one paper of `SOURCE` in that format."""

    def make(folder):
        for ending in ENDINGS:
            write(folder / ending / "papers" / f"drift.{ending}")
            with Engine.open(folder / ending) as engine:
                assert engine.ingest.add([]).papers == 1

    folder = made_once("one-paper-in-all-formats", make)
    opened = {ending: Engine.open(folder / ending) for ending in ENDINGS}
    yield opened
    for engine in opened.values():
        engine.close()


def first_quote(engine, question):
    """(the line that answers, all words of its quote, the text of each place that it cites, the best first)."""
    answer = engine.ask(AskRequest(question))
    block = next(block for block in answer.blocks if block.citations)
    (paper,) = engine.library.papers()
    contents = engine.library.contents(paper.paper_id)
    for cited in block.citations:
        page = contents.page(cited.page)
        assert page.start <= cited.start < cited.end <= page.end
        assert contents.text(cited.page)[cited.start - page.start : cited.end - page.start] == cited.quote
    places = [" ".join(contents.text(cited.page).split()) for cited in block.citations]
    return block.line or block.text, " ".join(f"{block.lead} {block.text}".split()), places


@pytest.mark.parametrize("question", QUESTIONS)
def test_one_paper_in_six_formats_gives_the_same_answer_and_its_place(engines, question):
    lines = {}
    for ending, engine in engines.items():
        line, words, places = first_quote(engine, question)
        lines[ending] = line.removeprefix("• ")
        assert QUESTIONS[question] in words, ending
        assert any(QUESTIONS[question] in place for place in places), ending
        if ending != "pdf" and line in words:
            assert line in places[0], ending
    assert set(lines.values()) == {lines["pdf"]}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_structure_and_the_metadata_are_those_of_the_source(engines, ending):
    library = engines[ending].library
    (paper,) = library.papers()
    assert paper.title == "Drift Sampling of Alpine Sensor Fields"
    if ending != "pdf":
        assert paper.metadata.authors == ("Ada Marrow", "Ben Quill")
        assert paper.metadata.year == 2021
    contents = library.contents(paper.paper_id)
    found = {}
    for element in contents.elements:
        page = contents.page(element.page)
        text = contents.text(element.page)[element.start - page.start : element.end - page.start]
        found.setdefault(element.kind, []).append((element.section, " ".join(text.split())))
    assert [text for _, text in found["heading"]] == [
        "Introduction", "Method", "Energy", "Experiments", "Ablation", "Limitations", "Conclusion", "References"
    ]  # fmt: skip
    assert ("Method › Energy", "Energy") in found["heading"]
    assert len(found["list"]) == 3
    ((_, table),) = found["table"]
    assert "| Arlberg | 148 | 0.88 | 0.79 |" in table
    assert len(found["reference"]) == 2
    if ending != "pdf":
        ((section, formula),) = found["equation"]
        assert section == "Method"
        assert formula.replace(" ", "") == r"S=\frac{|m-n|}{\sigma+1}"


def test_a_place_is_a_paragraph_wherever_it_is_shown(commands):
    write(commands.home / "papers" / "drift.md")
    added = commands.ingest()
    assert "added drift.md: 27 paragraphs" in added.err
    asked = commands.query("How much energy does a nightly comparison cost?")
    assert asked.out.startswith("A nightly comparison costs **0.42 joules**")
    assert "(drift.md, ¶13)" in asked.out.splitlines()[0] + asked.out.splitlines()[1]
    assert "p.13" not in asked.out
    read = json.loads(commands.query("How much energy does a nightly comparison cost?", "--json").out)
    assert read["citations"][0]["page"] == 13
    (commands.home / "draft.md").write_text("A nightly comparison costs 0.42 joules (drift.md, ¶13).", encoding="utf-8")
    (held,) = json.loads(commands.query("check", commands.home / "draft.md", "--json").out)["sentences"]
    assert (held["verdict"], held["evidence"][0]["page"]) == ("held", 13)
    assert "Energy  ¶12" in commands.ingest("show", "drift.md").out
    assert commands.ingest("show", "drift.md", "--page", "13").out.endswith("kilobytes of memory to spare.\n")
    beyond = commands.ingest("show", "drift.md", "--page", "99")
    assert "drift.md has 27 paragraphs, not 99." in beyond.err
    marked = commands.query("How much energy does a nightly comparison cost?", "--highlight", "out.pdf")
    assert "Not in out.pdf: drift.md has no pages" in marked.err


BAD = {
    "empty.md": (b" \n", "empty.md is empty."),
    "really.md": (b"%PDF-1.7\n%", "really.md is a PDF by its content. Call it really.pdf."),
    "really.docx": (b"%PDF-1.7\n%", "really.docx is a PDF by its content. Call it really.pdf."),
    "words.docx": (b"Only words.", "words.docx is damaged, or no docx file."),
    "old.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old.docx is protected by a password, or of"),
    "binary.txt": (b"a\0b\0" * 99, "binary.txt is no text by its content."),
    "huge.md": (b"word [" * (9 << 20), "huge.md is too large: more than 16 MB of text."),
    "script.html": (b"<html><script>let a = 1;</script></html>", "script.html has no text."),
    "web.pdf": (b"<!doctype html><p>Not found", "web.pdf is not a PDF"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_one_clear_line(commands, name):
    content, says = BAD[name]
    (commands.home / "papers" / name).write_bytes(content)
    ran = commands.ingest()
    assert len([line for line in ran.err.splitlines() if says in line]) == 1
    assert "Traceback" not in ran.err
    assert ran.code == 3


def test_a_markdown_file_as_long_as_ten_books_is_read_in_time(tmp_path):
    path = tmp_path / "long.md"
    path.write_text("# One\n\n" + ("Words of *some* length. " * 40 + "\n\n") * 3_500 + "## Two ##\n\nThe end.\n")
    document = read_other(path)
    assert document.warnings == ("long: read as plain text with headings",)
    last = document.elements[-1]
    assert (document.title, document.text[last.start : last.end], last.section) == ("One", "The end.", "Two")


def test_a_book_with_drm_is_refused_and_one_with_obfuscated_fonts_is_read(commands):
    plain = write(commands.home / "made" / "plain.epub")
    xml = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><enc:EncryptedData '
        'xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptionMethod Algorithm="{}"/></enc:EncryptedData>'
        "</encryption>"
    )
    rights = "META-INF/encryption.xml"
    papers = commands.home / "papers"
    packed(papers / "locked.epub", {rights: xml.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}, plain)
    packed(papers / "fonts.epub", {rights: xml.format("http://www.idpf.org/2008/embedding")}, plain)
    packed(papers / "no.epub", {"mimetype": "application/zip"})
    ran = commands.ingest()
    assert "locked.epub is protected by DRM: its text is encrypted." in ran.err
    assert "added fonts.epub" in ran.err
    assert "no.epub is no epub file by its content." in ran.err


def test_tracked_changes_are_read_as_accepted(commands):
    like = write(commands.home / "made" / "like.docx", TEXT)
    body = (
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p>'
        '<w:r><w:t xml:space="preserve">The slope has </w:t></w:r>'
        '<w:del w:id="1" w:author="A"><w:r><w:delText>twelve</w:delText></w:r></w:del>'
        '<w:ins w:id="2" w:author="A"><w:r><w:t>thirty</w:t></w:r></w:ins>'
        '<w:r><w:t xml:space="preserve"> burrows of marmots.</w:t></w:r></w:p></w:body></w:document>'
    )
    packed(commands.home / "papers" / "tracked.docx", {"word/document.xml": body}, like)
    commands.ingest()
    assert "The slope has thirty burrows of marmots." in commands.ingest("show", "tracked.docx", "--page", "1").out
    (sentence,) = read_draft(commands.home / "papers" / "tracked.docx").sentences
    assert sentence.text == "The slope has thirty burrows of marmots."


def test_a_saved_web_page_is_read_without_what_nobody_sees(commands):
    (commands.home / "papers" / "page.html").write_text(
        "<html><head><title>Site: page</title><meta name='citation_author' content='Marrow, Ada'>"
        "<meta name='citation_doi' content='10.1000/marmots.7'><script>document.write('<p>injected')</script></head>"
        "<body><nav><ul><li>Home</li></ul></nav><h1>Marmots</h1><h2>Counting</h2>"
        f"<p onclick='steal()'>{TEXT}<a href='javascript:x()'>More</a></p>"
        "<!-- <p>hidden</p> --><noscript>Enable</noscript>"
        "<table class='ltx_equation'><tr><td></td><td><math display='block'><semantics><mi>E</mi>"
        "<annotation encoding='application/x-tex'>E=\\sum_{i}m_{i}</annotation></semantics></math></td><td>(4)</td>"
        "</tr></table></body></html>"
    )
    commands.ingest()
    read = json.loads(commands.ingest("show", "page.html", "--json").out)
    assert read["title"] == "Marmots"
    assert read["metadata"]["authors"] == ["Ada Marrow"]
    assert read["metadata"]["doi"] == "10.1000/marmots.7"
    pages = [commands.ingest("show", "page.html", "--page", number + 1).out for number in range(read["pages"])]
    whole = "\n".join(pages)
    assert "E=\\sum_{i}m_{i} (4)" in whole
    assert not [word for word in ("injected", "Home", "hidden", "Enable", "steal", "javascript") if word in whole]


def test_plain_text_needs_no_pandoc_and_what_does_is_said_in_one_line(commands, monkeypatch):
    papers = commands.home / "papers"
    (papers / "latin.txt").write_bytes(f"Café notes.\n\n{TEXT}".encode("latin-1"))
    (papers / "notes.md").write_text(TEXT)
    write(papers / "paper.docx", TEXT)
    monkeypatch.setattr("ragscience.core.paper_records.find_spec", lambda name: None)
    ran = commands.ingest()
    assert "added latin.txt: 2 paragraphs, 1 passage, not in UTF-8: read as Latin-1" in ran.err
    assert "Reading 2 files, notes.md, paper.docx needs the package pypandoc_binary, which is not installed." in ran.err
    assert "Run `python -m pip install -r requirements-formats.txt`." in ran.err
    assert ran.code == 0
    assert "needs the package" not in commands.ingest().err
    assert commands.ingest("add", papers / "notes.md").code == 3
    monkeypatch.undo()
    assert "2 added" in commands.ingest().err


def test_sync_and_versions_treat_them_as_pdfs(commands):
    path = commands.home / "papers" / "notes.md"
    path.write_text(TEXT)
    make_pdf(commands.home / "papers" / "a.pdf", ["Words of a page that is read as ever."])
    assert "2 added" in commands.ingest("sync").err
    path.write_text(TEXT.replace("418", "420"))
    assert "updated notes.md" in commands.ingest("sync").err
    path.rename(path.with_name("~$notes.md"))
    assert "removed notes.md" in commands.ingest("sync").err


def test_a_text_as_deep_as_no_writer_makes_it_ends_in_a_line(commands):
    (commands.home / "papers" / "deep.html").write_text("<div>" * 20_000 + TEXT)
    (commands.home / "papers" / "deep.md").write_text(">" * 3_000 + TEXT)
    ran = commands.ingest()
    assert "Traceback" not in ran.err
    assert all(f"deep.{ending}" in ran.err for ending in ("html", "md"))


def test_an_upload_may_be_a_paper_of_another_format():
    from ragscience.serving.work import safe_name

    assert safe_name("C:\\papers\\My thesis.DOCX") == "My thesis.docx"


def test_what_pandoc_writes_in_latex_is_read_with_its_table_once(commands):
    (commands.home / "papers" / "t.tex").write_bytes(converted("| a | b |\n|---|---|\n| c | 4 |\n", "latex", "-s"))
    commands.ingest()
    shown = commands.ingest("show", "t.tex", "--page", "1").out.split("\n")
    assert [line[line.find("|") :] for line in shown if "|" in line] == ["| a | b |", "|---|---|", "| c | 4 |"]
