import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ragscience.history import KeptAnswer
from ragscience.records import Citation, Paper, Sentence
from ragscience.terminal.exporting import as_bibtex, as_markdown
from ragscience.terminal.plain import plain

from .making import answer


def kept(**fields):
    return KeptAnswer(1, "2026-01-31T09:05:00+00:00", answer(**fields))


def cite(file="bees.pdf", page=2, quote="3.7 m/s", supported=True, path=None):
    return Citation(file, page, quote, supported, f"/papers/{file}" if path is None else path)


def paper(path, title, file="bees.pdf"):
    return Paper(1, file, path, "0" * 32, 1, 0, 1, 1, title, "2026-01-01T00:00:00+00:00")


def test_markdown_has_question_answer_marks_and_pages_with_their_quotes():
    text = "Bees fly at 3.7 m/s (bees.pdf, p.2). They sing. They dance. So it is."
    verdicts = {"They sing.": "unsupported", "They dance.": "weak", "So it is.": "no-claim"}
    sentences = (
        Sentence("Bees fly at 3.7 m/s (bees.pdf, p.2).", "supported", 0.9, cite()),
        *(Sentence(said, verdict, 0.2, None) for said, verdict in verdicts.items()),
    )
    citations = (cite(), cite(), cite(page=3, quote="a\nb", supported=False), cite(file="x.pdf", page=1, quote=""))
    turns = [kept(question="How\nfast?", text=text, sentences=sentences, citations=citations, answer_id="abc")]
    turns.append(kept(question="And?", text="I do not know.", sentences=(), citations=(), answer_id="def"))
    assert as_markdown("My bees", turns) == (
        "# My bees\n\n"
        "## 1. How fast?\n\n"
        "Bees fly at 3.7 m/s (bees.pdf, p.2). ✓ They sing. ✗ They dance. ~ So it is.\n\n"
        "Sources:\n\n"
        "- bees.pdf, p.2: “3.7 m/s” ✓\n"
        "- bees.pdf, p.3: “a b” ✗\n"
        "- x.pdf, p.1 ✓\n\n"
        "Checked: 1 supported (✓), 1 weak (~), 1 unsupported (✗).\n\n"
        "*2026-01-31 09:05 UTC, answer abc*\n\n"
        "## 2. And?\n\n"
        "I do not know.\n\n"
        "*2026-01-31 09:05 UTC, answer def*\n"
    )


def test_a_sentence_that_is_not_in_the_answer_leaves_no_mark():
    lost = (Sentence("Never said.", "weak", 0.1, None), Sentence("", "weak", 0.1, None))
    said = Sentence("Said.", "supported", 1.0, None)
    text = as_markdown("t", [kept(text="Said. Said.", sentences=(*lost, said, said))])
    assert "Said. ✓ Said. ✓\n" in text
    nothing = as_markdown("t", [kept(text="Hm.", sentences=(Sentence("Hm.", "no-claim", 0.0, None),))])
    assert "Checked: nothing in it could be checked." in nothing


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=https://example.org/a>",
    "![seen](https://example.org/b.png)",
    "<!-- hidden -->",
    "a < b and b <c> d",
    "\x1b[2J\u202eevil",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_paper_is_html_or_a_picture(text):
    written = as_markdown(
        text, [kept(question=text, text=text, citations=(cite(quote=text, file="a.pdf"),), sentences=())]
    )
    tokens = MarkdownIt("commonmark").parse(written)
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}
    assert not kinds & {"html_block", "html_inline", "image"}
    assert "\x1b" not in written
    assert "\u202e" not in written


def fields_of(bib):
    """A reader of BibTeX, by its rule of balanced braces alone: {key: {field: value}}."""
    entries, at = {}, 0
    while (at := bib.find("@misc{", at)) >= 0:
        at += len("@misc{")
        end = bib.index(",", at)
        entry = entries.setdefault(bib[at:end], {})
        at = end + 1
        while not bib[at:].lstrip().startswith("}"):
            name, at = bib[at : bib.index("=", at)].strip(), bib.index("{", at)
            depth = 0
            for stop in itertools.count(at):
                depth += {"{": 1, "}": -1}.get(bib[stop], 0)
                if depth == 0:
                    break
            entry[name] = bib[at + 1 : stop]
            at = bib.index(",", stop) + 1
    return entries


def test_bibtex_has_an_entry_for_each_cited_paper_with_what_is_known_of_it():
    turns = [
        kept(citations=(cite(), cite(page=1), cite("gone.pdf"))),
        kept(citations=(cite(path="/other/bees.pdf"), cite("old.pdf", path=""), cite("Café 1.pdf"), cite())),
    ]
    papers = [paper("/papers/bees.pdf", "Fog & flight: 100 %"), paper("/x/old.pdf", "Old", "old.pdf")]
    entries = fields_of(as_bibtex(turns, {item.path: item for item in papers}))
    assert entries == {
        "bees": {"title": r"{Fog \& flight: 100 \%}", "file": "/papers/bees.pdf"},
        "gone": {"file": "/papers/gone.pdf"},
        "bees-2": {"file": "/other/bees.pdf"},
        "old": {"title": "{Old}", "file": "old.pdf"},
        "cafe-1": {"file": "/papers/Café 1.pdf"},
    }


def test_nothing_cited_is_nothing_written():
    assert as_bibtex([kept(citations=())], {}) == ""


@given(title=st.text(), names=st.lists(st.text(min_size=1), max_size=4, unique=True))
def test_no_title_or_name_breaks_the_file(title, names):
    turns = [kept(citations=tuple(cite(name) for name in names))]
    papers = {f"/papers/{name}": paper(f"/papers/{name}", title, name) for name in names}
    bib = as_bibtex(turns, papers)
    entries = fields_of(bib)
    assert len(entries) == len(names)
    assert bib.count("{") == bib.count("}")
    assert all(key.isascii() and "," not in key for key in entries)
    assert all(("title" in entry) == bool(plain(title).strip()) for entry in entries.values())
