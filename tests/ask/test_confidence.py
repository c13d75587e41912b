"""How sure an answer of quotes is."""

from dataclasses import replace

from ragscience.ask.confidence import confidence, look_for, probability, signs
from ragscience.ask.extractive import ScoredUnit
from ragscience.ask.quote_candidates import units_of
from ragscience.core.records import Found
from ragscience.search.names import MentionedPaper, PaperNames
from tests.ask.asking import ask
from tests.ask.passages import Search, hit
from tests.ask.test_missing_things import Words

ROOTS = hit("The LC50 of the extract was 12 mg per litre for roots and 31 for leaves.", file="roots.pdf")
BEES = hit("Bees steer by polarised light.", file="bees.pdf", rank=2)
BEES = replace(BEES, chunk=replace(BEES.chunk, paper_id=2))


class Names(PaperNames):
    """Knows one name: Apis, that of the paper on bees."""

    def __init__(self):
        pass

    def in_text(self, text):
        at = text.find("Apis")
        return () if at < 0 else (MentionedPaper(2, "bees.pdf", "Apis", at, at + 4, 1.0),)


PRESENCE = Words(ROOTS.chunk.text, BEES.chunk.text)


def found(question, *hits, **more):
    return Found(question, "default", hits or (ROOTS, BEES), **more)


def judged(question, *hits):
    each = found(question, *hits)
    return confidence(each, look_for(each, PRESENCE, Names()))


def test_what_the_paper_has_not_is_said_and_makes_it_low():
    assert judged("What was the LC50 of the Arabidopsis?") == ("low", ("‘Arabidopsis’ does not occur in roots.pdf.",))


def test_the_paper_that_is_named_is_looked_through():
    assert judged("Which LC50 did Apis have?")[1] == ("‘LC50’ does not occur in bees.pdf.",)
    looked = look_for(found("Which light did Apis steer by?"), PRESENCE, Names())
    assert looked.files == ("bees.pdf",)
    assert "Apis" not in [each.text for each in looked.things]


def test_it_is_high_only_with_words_of_the_kind_that_was_asked_for():
    ahead = found(
        "What was the LC50 of roots?", replace(ROOTS, score=2.0), replace(BEES, score=0.1), signals={"maxsim": 0.95}
    )
    best = ScoredUnit(units_of(ahead.hits[0])[0], 2.0, {"span": 0.9, "cell": 0.0})
    surely = [confidence(ahead, look_for(ahead, PRESENCE, Names()), replace(best, key=key))[0] for key in ("12", "")]
    assert surely == ["high", "medium"]


def test_a_question_half_of_whose_words_no_paper_has_is_answered_at_most_doubtfully():
    best = ScoredUnit(units_of(ROOTS)[0], 2.0, {"span": 0.9, "cell": 0.0}, key="12")
    for question, expected in (("Which extract of roots?", "high"), ("Which bread has an extract?", "low")):
        each = Found(question, "default", (ROOTS, BEES), signals={"maxsim": 0.95})
        assert confidence(each, look_for(each, PRESENCE, Names()), best)[0] == expected


def test_what_a_paper_prints_as_an_example_answers_only_a_question_on_that_paper():
    roots, bees = (
        Found(question, "default", (ROOTS, BEES), signals={"maxsim": 0.95})
        for question in ("What was the LC50 of roots?", "How do bees steer in Apis?")
    )
    unit = units_of(ROOTS)[0]
    for noise, expected in ((0.0, [False, False]), (1.0, [True, False])):
        best = ScoredUnit(unit, 2.0, {"span": 0.9, "cell": 0.0, "noise": noise}, key="12")
        given = [confidence(each, look_for(each, PRESENCE, Names()), best)[0] for each in (roots, bees)]
        assert [each == "low" for each in given] == expected


def test_quotes_carry_it_and_refusals_and_answers_without_a_library_do_not():
    search, how = Search(ROOTS, BEES), {"presence": PRESENCE, "names": Names()}
    given = ask(None, search, question="What was the LC50 of the Arabidopsis?", answerable_threshold=0.0, **how)
    assert (given.confidence, len(given.missing)) == ("low", 1)
    assert "presence_ms" in given.timings_ms
    refused = ask(None, search, question="Who baked Kilimanjaro?", answerable_threshold=1.0, **how)
    assert (refused.refused, refused.confidence, refused.missing) == (True, None, ())
    assert ask(None, search, question="What was the LC50 of roots?").confidence is None


def test_known_words_make_it_surer():
    looked = look_for(found("What was the LC50 of roots?"), PRESENCE, Names())
    known = signs(found("What was the LC50 of roots?"), looked)
    assert (known["gone"], known["share"]) == (0.0, 1.0)
    assert probability(known) > probability(known | {"share": 0.5}) > probability(known | {"share": 0.5, "gone": 1.0})
