"""Each sentence of an answer, held against the pages it cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask.check import check
from ragscience.claims.answer_sentences import split_answer
from tests.ask.passages import SAMPLING, TRAINING, hit
from tests.ask.span_reading import read

DROPOUT = hit(
    "Dropout of 0.1 is applied to each layer of the Marlin encoder. Label smoothing does not help on this task.",
    page=9,
    rank=3,
    start=4000,
)
HITS = (TRAINING, SAMPLING, DROPOUT)


def verdicts(text, hits=HITS, read=read):
    return [sentence.verdict for sentence in check(text, hits, read=read).sentences]


@pytest.mark.parametrize(
    ("file", "page", "chunk", "claim"),
    [
        ("attention.pdf", 9, DROPOUT, "Label smoothing does not help on this task"),
        ("attention.pdf", 9, DROPOUT, "The Marlin encoder has dropout of 0.1 applied to each layer"),
    ],
)
def test_evidence_is_a_place_in_the_document(file, page, chunk, claim):
    [sentence] = check(f"{claim} ({file}, p.{page}).", HITS, read=read).sentences
    start, end = sentence.evidence.start, sentence.evidence.end
    assert chunk.chunk.text[start - chunk.chunk.start : end - chunk.chunk.start] == sentence.evidence.quote
    assert sentence.evidence.supported


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Training took 3.5 days for the big models", "supported"),
        ("For the big models, training took 3.5 days", "supported"),
        ("Training took 4.5 days for the big models", "unsupported"),  # a number that is not there
        ("Training took 12 days for the big models", "unsupported"),  # one that is there, of something else
        ("Training took 3.5 hours for the small models of Google", "unsupported"),  # a name that is not there
        ("Training took eleven days for the big models", "unsupported"),
        ("Training did not take 3.5 days for the big models", "unsupported"),
        ("“Training took only 3.5 days for big models”", "weak"),  # a quotation, and not word for word
        ("Bananas ripen faster in warm kitchens", "unsupported"),
    ],
)
def test_what_is_hard_evidence(claim, verdict):
    assert verdicts(f"{claim} (attention.pdf, p.7).") == [verdict]


@pytest.mark.parametrize(("name", "verdict"), [("Adagrad", "supported"), ("Adam", "weak")])
def test_a_name_is_read_in_its_place(name, verdict):
    page = hit(
        "We train using Adagrad with a learning rate of 0.15. Adam, Adadelta and plain descent were slower.", page=7
    )
    said = f"The learning rate of {name} in training is 0.15 (attention.pdf, p.7)."
    assert verdicts(said, (page,)) == [verdict]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("The north mill grinds 14 sacks", "supported"),
        ("The south mill grinds 14 sacks", "weak"),  # all its words are there, of another mill
        ("The barley mill grinds 14 sacks", "weak"),  # the barley stands in the sentence before
    ],
)
def test_words_far_from_each_other_support_nothing(said, verdict):
    page = hit(
        "Barley came late that year. In a week of rain the north mill grinds 14 sacks, compared with the 29 sacks that "
        "the older wheel could do in dry weather, as measured by the miller for the south.",
        page=7,
    )
    assert verdicts(f"{said} (attention.pdf, p.7).", (page,)) == [verdict]


@pytest.mark.parametrize(
    ("page", "right", "wrong"),
    [
        ("It holds 1,500,000 words.", "It holds 1.5 million words", "It holds 2.5 million words"),
        ("The rate was 5 × 10−4 at first.", "The rate was 5e-4 at first", "The rate was 5e-6 at first"),
        ("It has eight heads of 64 numbers.", "It has 8 heads of 64 numbers", "It has 6 heads of 64 numbers"),
        ("The GPT-3 model was tuned.", "The model GPT-3 was tuned", "The model GPT-4 was tuned"),
        ("The score of .50 was reached.", "The score of 0.5 was reached", "The score of 5 was reached"),
        ("Recall is higher than before.", "The recall is higher than before", "The recall is lower than before"),
        (
            "They use natural language inference.",
            "They use NLI, language inference",
            "They use QXZ, language inference",
        ),
        (
            "It is better.\nModel\nA\nB\nScore\n5.29\n24.9\n31.7",
            "Model A B Score 5.29 24.9",
            "Model A B Score 24.9 5.29",
        ),
    ],
)
def test_other_ways_to_say_it_and_what_is_another_thing(page, right, wrong):
    hits = [hit(page, page=2)]
    assert verdicts(f"{right} (attention.pdf, p.2).", hits)[0] in ("supported", "weak")
    assert verdicts(f"{wrong} (attention.pdf, p.2).", hits) == ["unsupported"]


def test_what_denies_as_the_page_does_not_is_not_supported():
    said = [f"By hand {how} trained (attention.pdf, p.2)." for how in ("it was", "it was not")]
    for page, right in (("It was trained by hand.", 0), ("It was not trained by hand.", 1)):
        found = [verdicts(text, [hit(page, page=2)]) for text in said]
        assert found[right] == ["supported"]
        assert found[1 - right] != ["supported"]


def test_a_page_of_the_same_paper_that_holds_it_is_put_in():
    checked = check("Label smoothing does not help on this task (attention.pdf, p.7).", HITS, read=read)
    assert checked.text == "Label smoothing does not help on this task (attention.pdf, p.9)."
    assert (checked.corrected, checked.unknown) == (1, 0)
    assert [(each.page, each.supported) for each in checked.citations] == [(9, True)]


def test_a_page_of_another_paper_is_never_put_in():
    checked = check("Beam search with a beam size of 4 was used (attention.pdf, p.7).", HITS, read=read)
    assert checked.text.endswith("(attention.pdf, p.7).")
    [sentence] = checked.sentences
    assert sentence.verdict == "unsupported"
    assert sentence.evidence.file == "decoding.pdf"  # where it is said instead


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Training took 3.5 days for the big models.", "weak"),
        ("Training took 9.5 days for the big models.", "unsupported"),
        ("Nothing of that kind was ever seen by sailors.", "unsupported"),
        ("It took 3.5 days of training for the big models (nowhere.pdf, p.3).", "weak"),
    ],
)
def test_what_cites_nothing_is_never_supported(text, verdict):
    assert verdicts(text) == [verdict]


@pytest.mark.parametrize(
    "text",
    [
        "I could not find this in your papers.", "No information found for the price of bananas.",
        "The passages do not mention bananas.", "Is that what you asked?", "Here is what the papers say:",
        "Sure, happy to help!", "## Training of the big models", "It is what it is.",
        "Found in 2 papers: attention.pdf, my decoding.pdf", "Found in 1 paper: decoding.pdf",
        "2 papers speak of this: attention.pdf, my decoding.pdf",  # the same in a history of before
    ],
)  # fmt: skip
def test_what_says_nothing_is_no_claim(text):
    assert verdicts(f"{text}\n\nTraining took 3.5 days for the big models [1].") == ["no-claim", "supported"]


def test_parts_of_a_sentence_are_held_against_the_citation_behind_each():
    text = "Training of big models took 3.5 days {}, and beam search had a beam size of 4 {}."
    training, sampling = "(attention.pdf, p.7)", "(decoding.pdf, p.2)"
    assert verdicts(text.format(training, sampling)) == ["supported"]
    assert verdicts(text.format(sampling, training)) == ["unsupported"]


MARKDOWN = """\
# Answer

Two things are known:

1. **Training** took 3.5 days for the big models [1].
   - Beam search with a beam size of 4 was used (decoding.pdf, p.2)
- It used dropout of 0.1 in each layer of the Marlin encoder
  and nothing else [3]

| what | value |
|------|-------|
| big models | 3.5 days |
| base models | 12 hours |

(attention.pdf, p.7)

```
beam search with a beam size of 4
```
[2]
"""


def test_markdown_is_cut_at_items_rows_and_blocks():
    checked = check(MARKDOWN, HITS, read=read)
    assert [(s.text.split("(")[0][:20], s.verdict) for s in checked.sentences] == [
        ("Answer", "no-claim"),
        ("Two things are known", "no-claim"),
        ("**Training** took 3.", "supported"),
        ("Beam search with a b", "supported"),
        ("It used dropout of 0", "weak"),  # the page does not say "nothing else"
        ("| what | value |", "no-claim"),
        ("| big models | 3.5 d", "supported"),
        ("| base models | 12 h", "supported"),
        ("beam search with a b", "supported"),
    ]


def test_a_sentence_over_the_end_of_a_page_and_of_a_passage():
    first = "Training of the large models took more than three days, because the machines had to share"
    second = " share a single disk that was often busy."
    both = first + second.removeprefix(" share")
    hits = [
        hit(first, page=3, start=100),
        hit(second.strip(), rank=2, start=100 + len(first) - len("share"), breaks=((0, 3), (6, 4))),
    ]
    checked = check(f"{both.rstrip('.')} (attention.pdf, p.3) (attention.pdf, p.4).", hits, read=read)
    assert [(each.page, each.supported) for each in checked.citations] == [(3, True), (4, True)]
    assert [sentence.verdict for sentence in checked.sentences] == ["supported"]


def test_a_number_is_read_in_its_place():
    said = "Training for the big models took, all in all, 3.5 days (attention.pdf, p.7)."
    assert verdicts(said) == ["supported"]
    assert verdicts(said.replace("3.5", "12")) == ["weak"]
    assert verdicts(said, read=None) == ["weak"]


PIECES = [
    "Training took 3.5 days", "for the big models", ".", ". ", "\n", "\n\n", "- ", "1. ", "# ", "| a | b |", "|--|--|",
    "```\n", "“", "”", "(attention.pdf, p.7)", "[1]", "[2, 3]", "(x.pdf, p.1)", "not ", "12", "BERT", "**", "…", "?",
    ":", " ", "Beam search", "attention.pdf", "p. 7", "(", "]", "\r", "\x00", "ﬁ", "İ", "٣",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_whatever_is_written_the_sentences_stand_in_the_text_in_order(text):
    checked = check(text, HITS, read=read)
    at = 0
    for sentence in checked.sentences:
        at = checked.text.index(sentence.text, at) + len(sentence.text)
        assert sentence.verdict in ("supported", "weak", "unsupported", "no-claim")
        assert 0 <= sentence.score <= 1
        if sentence.verdict == "supported":
            assert sentence.evidence is not None
    assert check(text, HITS, read=read) == checked


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_sentences_cover_the_words_and_do_not_overlap(text):
    at = 0
    for sentence in split_answer(text, ()):
        assert at <= sentence.start < sentence.end <= len(text)
        assert not any(character.isalpha() and character not in "ap" for character in text[at : sentence.start])
        at = sentence.end
    assert not any(character.isalpha() for character in text[at:])


def test_a_long_answer_and_long_pages_are_read_in_time():
    check("Training took 3.5 days for the big models [1]. " * 100, HITS, read=None)
    check("“" * 5_000, HITS, read=None)
    check("| a " * 5_000, HITS, read=None)
    check("not " * 5_000, [hit("not " * 2_000)], read=None)


NUMBERS = hit(
    "6.2 Model Variations of dropout\n\nWe apply dropout [33] to each layer.^14 A scan takes 20 seconds (Smith et al., "
    "2016). Training reduces the error twofold, as Tables 7 and 9 show in §5.3.",
    page=2,
)


@pytest.mark.parametrize("number", [33, 14, 2016, 7, 9, 5.3])
def test_numbers_of_references_footnotes_and_parts_of_a_paper_support_nothing(number):
    said = f"We apply dropout to {number} of each layer, as training and a scan show (attention.pdf, p.2)."
    assert verdicts(said, (NUMBERS,)) == ["unsupported"]
    assert verdicts("A scan takes 20 seconds (attention.pdf, p.2).", (NUMBERS,)) == ["supported"]


def added(text):
    return check(text, HITS, read=None, adds=True)


def test_a_sentence_that_a_page_holds_gets_that_page():
    said = HITS[0].chunk.text.split(". ")[0].replace("\n", " ").strip().rstrip(".")
    made = added(f"{said}. Unicorns prefer tea on Sundays.")
    (citation,) = made.citations
    assert (citation.file, citation.page) == (HITS[0].chunk.file, HITS[0].chunk.page_start)
    assert (citation.added, citation.supported) == (True, True)
    assert f"({citation.file}, p.{citation.page})." in made.text
    assert [each.verdict for each in made.sentences] == ["supported", "unsupported"]
    assert made.sentences[0].evidence.added
    assert made.text.endswith("Unicorns prefer tea on Sundays.")


@pytest.mark.parametrize("text", ["", "Unicorns prefer tea on Sundays.", "I could not find this in your papers.", "…"])
def test_what_no_page_holds_stays_as_it_is(text):
    assert added(text) == check(text, HITS, read=None)


def test_a_sentence_that_a_page_half_holds_gets_that_page_and_no_tick():
    said = HITS[0].chunk.text.split(". ")[0].replace("\n", " ").strip().rstrip(".")
    made = added(f"{said}, as several gardeners found.")
    (citation,) = made.citations
    assert (citation.added, citation.supported) == (True, False)
    assert [each.verdict for each in made.sentences] == ["weak"]


def test_without_passages_nothing_is_added():
    checked = check("Everything is a sum.", [], read=None)
    assert check("Everything is a sum.", [], read=None, adds=True) == checked
