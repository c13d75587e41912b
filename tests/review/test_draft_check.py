import pytest

from ragscience.core.records import Metadata
from ragscience.review.draft_check import DraftChecker
from ragscience.review.drafts import draft_of
from tests.ask.paper_library import make_library

PAPERS = {
    "bees.pdf": (
        "Navigation of honeybees in fog",
        [
            (1, "text", "Honeybees steer by polarised light. In dense fog they fly slower than in the sun."),
            (2, "text", "We tracked 412 bees with harmonic radar."),
            (2, "text", "The mean flight speed in fog was 3.7 metres per second."),
            (3, "reference", "A. Cho. Butterflies of Patagonia and 999 of their relatives. 2001."),
        ],
    ),
    "tides.pdf": (
        "Predicting tides with the Kelvin machine",
        [(1, "text", "The machine sums ten harmonic constituents of the tide. Its largest error was 12 centimetres.")],
    ),
}  # fmt: skip
METADATA = {"bees.pdf": Metadata(title="Navigation of honeybees in fog", authors=("Ann Lee", "Bo Cho"), year=2019)}


@pytest.fixture(scope="module")
def checker(tmp_path_factory):
    with make_library(tmp_path_factory.mktemp("home"), PAPERS, METADATA) as library:
        yield DraftChecker(library, None)


def checked(checker, text, **how):
    """(verdict, pages, (kind, mine, theirs) of what differs) of the first sentence."""
    one = next(checker.check(draft_of(text, "draft.md"), **how))
    return one.verdict, [c.page for c in one.evidence], [(d.kind, d.quoted, d.printed) for d in one.differences]


@pytest.mark.parametrize(
    ("said", "verdict", "differences"),
    [
        ("Honeybees steer by polarised light", "held", []),
        ("They tracked 412 bees with harmonic radar", "unclear", []),  # without the reader
        ("We tracked 421 bees with harmonic radar", "partly", [("number", "421", "412")]),
        ("In dense fog they fly faster than in the sun", "partly", [("opposite", "faster", "slower")]),
        ("Honeybees do not steer by polarised light", "partly", [("denial", "do not", "")]),
        ("No more than 412 bees were tracked by harmonic radar", "partly", [("number", "<412", "412")]),
        ("Lee and Cho tracked bees with harmonic radar", "held", []),  # the paper's authors
        ("The Bombus-7B bees were tracked with harmonic radar", "partly", [("name", "bombus7b", "")]),
        ("Honeybees always steer by polarised light", "partly", [("overclaim", "always", "")]),
        ("The mean flight speed in fog was 3.7 metres per second", "held", []),
        ("The committee discussed the budget of the ministry", "not held", []),
        ("There were 999 butterflies in Patagonia", "not held", [("number", "999", "")]),
    ],
)  # fmt: skip
def test_a_sentence_is_held_against_the_paper_that_it_cites(checker, said, verdict, differences):
    found = checked(checker, f"{said} (bees.pdf).")
    assert (found[0], found[2]) == (verdict, differences) or (found[0] == verdict == "not held")


def test_the_papers_own_name_need_not_be_in_its_lines(tmp_path):
    papers = {
        "raft.pdf": (
            "Raft: consensus for everyone",
            [(1, "text", "We present Raft, a protocol. Raft is new. Our servers elect a leader by random timers.")],
        )
    }
    with make_library(tmp_path, papers, {"raft.pdf": Metadata(title="Raft: consensus for everyone")}) as library:
        for name, is_held in (("Raft", True), ("Bigtable", False)):
            said = f"{name} servers elect a leader by random timers (raft.pdf)."
            assert (checked(DraftChecker(library, None), said)[0] == "held") == is_held


@pytest.mark.parametrize(
    "cited",
    [
        "(bees.pdf, p.1)",
        "[@lee2019navigation]",
        "[@bees]",
        "(Lee and Cho, 2020)",
        "(Lee et al. 2019)",
        "[1]",
        "(b/bees.pdf)",
    ],
)
def test_a_paper_is_cited_in_any_form(checker, cited):
    text = f"Honeybees steer by polarised light {cited}.\n\n# References\n\n[1] Lee. Navigation of honeybees in fog."
    assert checked(checker, text)[:2] == ("held", [1])


def test_a_paper_that_is_not_there_is_said(checker):
    for cited in ("(other.pdf)", "[@nobody2001]", "(Nobody et al., 2001)"):
        assert checked(checker, f"Honeybees steer by polarised light {cited}.")[0] == "not in the library"
    assert checked(checker, "Yes [@lee2019navigation].")[0] == "not checkable"


def test_another_page_than_the_one_cited_is_noted(checker):
    (one,) = checker.check(draft_of("Honeybees steer by polarised light (bees.pdf, p.2).", "a.md"))
    assert (one.verdict, one.note) == ("held", "It is on p.1.")


def test_one_of_several_papers_is_enough(checker):
    assert checked(checker, "Honeybees steer by polarised light (tides.pdf; bees.pdf).")[:2] == ("held", [1])


def test_what_cites_nothing_is_suggested(checker):
    text = "The machine sums ten harmonic constituents of the tide. Bees are nice."
    (one,) = checker.check(draft_of(text, "a.md"), suggest=True)
    assert (one.verdict, [c.file for c in one.evidence]) == ("suggested", ["tides.pdf"])
    assert not [*checker.check(draft_of(text, "a.md"))]
