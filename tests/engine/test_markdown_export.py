import pytest
from markdown_it import MarkdownIt

from ragscience.core.records import Citation, Sentence
from ragscience.core.serialization import to_json
from ragscience.engine.printable import answer_output
from ragscience.engine.saved_answers import as_markdown
from ragscience.library.history import KeptAnswer
from tests.library.answers_made import answer


def kept(**fields):
    return KeptAnswer(1, "2026-01-31T09:05:00+00:00", answer(**fields))


def cite(file="bees.pdf", page=2, quote="3.7 m/s", supported=True, path=None):
    return Citation(file, page, quote, supported, f"/papers/{file}" if path is None else path)


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
        "1. bees.pdf, p.2: “3.7 m/s” ✓\n"
        "2. bees.pdf, p.3: “a b” ✗\n"
        "3. x.pdf, p.1 ✓\n\n"
        "Checked: 1 supported (✓), 1 weak (~), 1 unsupported (✗).\n\n"
        "*2026-01-31 09:05 UTC, answer abc*\n\n"
        "## 2. And?\n\n"
        "I do not know.\n\n"
        "*2026-01-31 09:05 UTC, answer def*\n"
    )


def test_no_export_has_the_signs_of_formulas_that_were_not_understood():
    quote = cite(quote="so ⟪a b⟫ holds")
    kept_answer = kept(text="It says ⟪a b⟫.", citations=(quote,), sentences=(Sentence("x", "quote", 1.0, quote),))
    assert "“so [formula, p.2] holds”" in as_markdown("t", [kept_answer])
    for printed in (as_markdown("t", [kept_answer]), to_json(answer_output(kept_answer.answer))):
        assert "[formula" in printed
        assert not set("⟪⟫") & set(printed)


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


@pytest.mark.parametrize(
    "text",
    [
        "See [the page](javascript:alert(1)) here.",
        "See [the page][1] here.\n\n[1]: javascript:alert(1)",
        "![x](http://127.0.0.1/x.png) <javascript:alert(1)> <a href=javascript:alert(1)>x</a>",
    ],
)
def test_links_in_what_papers_and_models_say_are_text(text):
    html = MarkdownIt("commonmark", {"html": True}).render(as_markdown("t", [kept(text=text, question=text)]))
    assert "<a " not in html
    assert "<img" not in html
    assert "javascript:alert(1)" in html
