import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask.paper_mentions import MentionedPapers, names_in
from ragscience.ask.question_splitting import side_by_side
from ragscience.ask.sub_queries import MOST_QUERIES, SubQuery, home_papers, more_queries, placed, sub_queries
from ragscience.core.records import Found, Hit, Metadata, Paper, StoredChunk


def paper(number, file, title, *authors):
    return Paper(number, file, f"/{file}", "0" * 32, 1, 1, 9, 9, title, "2026", metadata=Metadata(authors=authors))


PAPERS = [
    paper(1, "oakmap_osdi2011.pdf", "OakMap: Storing Maps in a Forest", "Ada Quill", "Bo Tern"),
    paper(2, "1907.01234.pdf", "Fern: A Small Encoder", "Cy Tern", "Dot Lark"),
    paper(3, "moss2.pdf", "Sequence-to-Sequence Gardens Grow by Themselves", "Eve Wagtail"),
    paper(4, "soil.pdf", "Soil Moisture Prediction"),
    paper(5, "black_scholes.pdf", "The Pricing of Options", "Fischer Black", "Myron Scholes"),
    paper(6, "thicket.pdf", "Thoroughly Hidden Index Construction for Known Entities"),
]
OAK, FERN, MOSS, SOIL, BLACK, THICKET = (each.file for each in PAPERS)


def asked(question, home=None):
    whole, *parts = sub_queries(question, PAPERS, home)
    assert whole == SubQuery(question)
    return parts


def hit(rank, chunk_id, file):
    chunk = StoredChunk(chunk_id, 1, file, f"/{file}", 0, "text", 0, 4, 1, 1, "", "text", ((0, 1),))
    return Hit(rank, chunk, 1 / rank, {}, ("dense",))


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("How fast is OakMap?", [OAK]),
        ("how fast is oakmap?", [OAK]),
        ("What does FERN-large reach, and FERNLARGE?", [FERN]),
        ("Does MOSS-2 need water? And fern?", [MOSS, FERN]),
        ("sequence-to-sequence models", [MOSS]),
        ("On what soil moisture prediction was tried", [SOIL]),
        ("What did Wagtail's group find?", [MOSS]),
        ("What did Tern find?", []),  # an author of two papers
        ("a wagtail in the garden", []),  # an author's name is written with a capital
        ("The THICK index", [THICKET]),  # initials of the title
        ("Who keeps it and why?", []),
        ("", []),
    ],
)
def test_papers_that_a_text_is_likely_to_speak_of(text, files):
    assert list(MentionedPapers(PAPERS).likely(text)) == files


def test_names_are_told_by_the_way_they_are_written():
    assert names_in("Which of GPT-2, the Transformer's and ResNet is 3x N and big?") == (
        "GPT-2",
        "Transformer",
        "ResNet",
    )


def test_question_in_one_piece_is_one_search():
    assert asked("How deep do roots grow in dry years?") == []


@pytest.mark.parametrize(
    "question",
    [
        "What are the precision and recall of the classifier?",
        "What are the encoder and decoder stack made of?",
        "How and why do leaves fall?",
        "Which model did Black and Scholes derive?",
    ],
)
def test_what_belongs_together_is_not_split(question):
    assert all(terms_of(part.text) >= terms_of(question) - {"Black", "Scholes"} for part in asked(question))


def terms_of(text):
    return set(text.strip("?").split())


def test_what_is_asked_is_asked_of_each_in_its_paper():
    parts = asked("How large is the inner layer in OakMap and in Fern with hidden size 768?")
    assert parts == [
        SubQuery("How large is the inner layer in OakMap with hidden size 768?", (OAK,)),
        SubQuery("How large is the inner layer in Fern with hidden size 768?", (FERN,)),
    ]
    # Within its paper its name favours what repeats it.
    assert {part.searched for part in parts} == {"How large is the inner layer in with hidden size 768?"}


@pytest.mark.parametrize(
    "question",
    [
        "Compare the depth of OakMap and Fern.",
        "Compare the depth of OakMap with that of Fern.",
        "How do OakMap and Fern differ in depth?",
        "Which has the greater depth, OakMap or Fern?",
        "What is the difference in depth between OakMap and Fern?",
        "OakMap versus Fern: which depth?",
        "Both OakMap and Fern report their depth: how much is it?",
        "What depth has OakMap, and what depth has Fern?",
        "Does OakMap have the same depth as Fern?",
        "Is the depth of OakMap greater than the depth that is given for Fern?",
        "What depth was used in OakMap as opposed to the depth that was used in Fern?",
        "Compare the depth of roots that Quill's group found in 2011 and the depth of the small encoder in Fern.",
    ],
)
def test_each_of_two_compared_papers_is_searched_for_what_is_compared(question):
    parts = asked(question)
    assert {part.papers for part in parts} == {(OAK,), (FERN,)}
    assert all("depth" in part.text for part in parts)
    assert not any(name in part.searched for part in parts for name in ("OakMap", "Fern", "Quill"))
    assert len({part.text for part in parts}) == len(parts)
    for part in parts:
        own, other = ("OakMap", "Fern") if part.papers == (OAK,) else ("Fern", "OakMap")
        assert own in part.text or "Quill" in part.text
        assert other not in part.text


def test_a_part_about_it_is_searched_where_the_part_before_is_whatever_else_it_names():
    question = "What is OakMap, and how much faster is it than maps on Fern trees?"
    assert [(part.text, part.papers) for part in asked(question) if part.text != question] == [
        ("What is OakMap?", (OAK,)),
        ("How much faster is it than maps on Fern trees?", (OAK,)),
    ]


def test_three_way_comparison():
    assert [part.papers for part in asked("Compare the depth of OakMap on Linux, Moss-2 and Fern trees.")] == [
        (OAK,),
        (MOSS,),
        (FERN,),
    ]


def test_no_more_than_the_most_and_each_paper_before_a_second_part_of_one():
    question = "What is A1 in OakMap, what is B2 in OakMap, what is C3 in OakMap, and what depth has Fern?"
    parts = sub_queries(question, PAPERS)
    assert len(parts) == MOST_QUERIES
    assert [part.papers for part in parts[1:3]] == [(OAK,), (FERN,)]


def test_clause_that_names_nothing_stays_with_the_paper_before_it():
    assert asked("Who wrote OakMap, and how many students took part in its user study?")[1] == SubQuery(
        "how many students took part in its user study", (OAK,)
    )


def test_clause_that_names_nothing_takes_the_name_along_where_no_paper_is_known():
    assert asked("What is the leaf area of Quercus, and how many years does growing it take?")[1] == SubQuery(
        "Quercus: how many years does growing it take"
    )


def test_ellipsis_takes_the_words_of_the_clause_before():
    first, second = asked("Which fertiliser was used for OakMap, and which one for Fern?")
    assert first == SubQuery("Which fertiliser was used for OakMap?", (OAK,))
    assert second == SubQuery("Which fertiliser was used for Fern?", (FERN,))


def test_what_opens_the_question_holds_for_each_clause():
    parts = asked("For dry soils, which depth has OakMap, and which width has Fern?")
    assert [part.text for part in parts] == [
        "For dry soils, which depth has OakMap?",
        "For dry soils, which width has Fern?",
    ]


def test_paper_named_beside_the_compared_ones_is_searched_too():
    parts = asked("Which of the two, OakMap or Fern, has the depth that Moss-2 recommends?")
    assert [part.papers for part in parts] == [(OAK,), (FERN,), (MOSS,)]


def test_home_of_a_name_that_is_in_no_title():
    asked_for = []

    def home(name):
        asked_for.append(name)
        return {"the base Willow": (SOIL,), "the Reed": (OAK, SOIL)}.get(name, ())

    first, second, third = asked("What depth have the base Willow, the Reed and Zinnia?", home)
    assert asked_for == ["the base Willow", "the Reed", "the Zinnia"]
    assert first.papers == (SOIL,)
    assert first.text == "What depth has the base Willow?"
    assert "Willow" not in first.searched
    assert second == SubQuery("What depth has the Reed?", (OAK, SOIL))
    assert third == SubQuery("What depth has Zinnia?")


def test_home_of_a_clause_is_that_of_a_name_with_an_article():
    asked_for = []

    def home(name):
        asked_for.append(name)
        return (SOIL,)

    parts = asked("What depth has OakMap, what COST does it have, and how deep is the big Willow?", home)
    assert asked_for == ["the Willow"]
    assert [part.papers for part in parts] == [(OAK,), (SOIL,), (OAK,)]
    assert "COST" in parts[2].text


def test_home_is_not_asked_for_where_there_is_one_piece():
    assert asked("What depth has the Willow?", lambda name: pytest.fail(name)) == []


@pytest.mark.parametrize(
    ("files", "homes"),
    [
        ("aaabbc", ("a",)),
        ("abbaba", ("a", "b")),
        ("baabba", ("b", "a")),
        ("abcdef", ("a",)),
        ("", ()),
    ],
)
def test_home_is_where_a_search_for_the_name_ends(files, homes):
    hits = tuple(hit(rank, rank, file) for rank, file in enumerate(files, start=1))
    assert home_papers(Found("the Willow", "default", hits)) == homes


def test_name_that_is_everywhere_is_at_home_nowhere():
    hits = tuple(hit(rank, rank, f"{rank}.pdf") for rank in range(1, 21))
    assert home_papers(Found("the model", "default", hits)) == ()


def test_query_worded_by_somebody_else_finds_its_papers():
    assert placed("  depth of OakMap and  Fern ", PAPERS) == (
        SubQuery("depth of OakMap and Fern", (OAK,)),
        SubQuery("depth of OakMap and Fern", (FERN,)),
    )
    assert placed("depth of roots", PAPERS) == (SubQuery("depth of roots"),)


def test_more_asks_for_a_missing_phrase_where_it_belongs():
    question = "What depth has OakMap?"
    more = more_queries(question, sub_queries(question, PAPERS), ["width of young roots"], PAPERS)
    assert more == (SubQuery("width of young roots", (OAK,)), SubQuery("OakMap: width of young roots"))


def test_more_asks_for_names_but_not_for_lone_words_or_names_of_papers():
    question = "What depth has OakMap?"
    more = more_queries(question, sub_queries(question, PAPERS), ["take", "OakMap", "Path-X"], PAPERS)
    assert [query.text for query in more] == ["Path-X", "OakMap: Path-X"]


def test_more_asks_the_parts_that_there_was_no_room_for_and_ends():
    question = "What depth has OakMap, and what width has Fern?"
    left = more_queries(question, [SubQuery(question)], [], PAPERS)
    assert left == sub_queries(question, PAPERS)[1:]
    assert more_queries(question, [SubQuery(question), *left], [], PAPERS) == ()


def test_nothing_is_asked_twice():
    question = "What depth has OakMap, and what width has Fern?"
    asked_already = list(sub_queries(question, PAPERS))
    missing = [asked_already[1].text, "What depth has?", "the colour of old leaves"]
    for _ in range(9):
        more = more_queries(question, asked_already, missing, PAPERS)
        assert not set(more) & set(asked_already)
        asked_already += more
    assert more == ()


def test_text_that_is_no_question_is_not_taken_apart():
    assert asked("and what depth has OakMap, " * 400 + "?") == []


def test_list_of_names():
    assert side_by_side("What do RED-1, the big Blue and Green2 use?") == [
        ("What do RED-1 use?", "RED-1"),
        ("What do the big Blue use?", "the big Blue"),
        ("What do Green2 use?", "Green2"),
    ]
    assert side_by_side("Is it red, blue and green?") == []
    assert side_by_side("and Red or") == []


WORDS = st.sampled_from(
    """
    OakMap Fern Moss-2 the and or , ; ? : versus compare what which how many in of than same as both For depth differ
    one that Willow soil with è 中 ' - 768
    """.split()  # noqa: SIM905  # a list of forty strings reads worse
)


@given(st.lists(WORDS, max_size=24).map(" ".join) | st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
def test_wild_questions_keep_the_promises(question, missing):
    queries = sub_queries(question, PAPERS, lambda name: (SOIL,) if "W" in name else ())
    assert queries[0].text == " ".join(question.split())
    assert 1 <= len(queries) == len(set(queries)) <= MOST_QUERIES
    assert {file for query in queries for file in query.papers} <= {each.file for each in PAPERS}
    more = more_queries(question, queries, missing, PAPERS)
    assert len(more) < MOST_QUERIES
    assert not set(more) & set(queries)
