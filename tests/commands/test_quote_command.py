import json


def test_a_quote_is_shown_with_its_page_and_what_differs(asked):
    ran = asked.query("quote", "In dense fog they fly faster than any other insect")
    assert ran.code == 4
    assert ran.out == "Not found in the papers.\n"
    ran = asked.query("quote", "The", "mean flight speed in fog was 4.7 metres per second")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "(bees.pdf, p.2)  differs",
        "  The mean flight speed in fog was 3.7 metres per second",
        "  - number: “4.7” is printed “3.7”",
    ]


def test_quotes_of_a_file_are_found_line_by_line(asked, tmp_path):
    (tmp_path / "quotes.txt").write_text('Cobalt oxide gives the blue colour\n{"id": "q", "question": "not there"}\n')
    ran = asked.query("quote", "--from", tmp_path / "quotes.txt", "--json")
    assert ran.code == 4
    first, second = map(json.loads, ran.out.splitlines())
    (cited,) = first["places"][0]["citations"]
    assert (cited["file"], cited["page"], cited["quote"]) == ("kilns.pdf", 1, "Cobalt oxide gives the blue colour")
    assert len(cited["boxes"]) == 1
    assert first["places"][0]["differences"] == []
    assert (second["id"], second["places"]) == ("q", [])


def test_only_named_papers_are_looked_at(asked):
    assert asked.query("quote", "Cobalt oxide gives the blue colour", "--paper", "bees").code == 4
    assert asked.query("quote", "Cobalt oxide gives the blue colour", "--paper", "no such").code == 4
    assert asked.query("quote").code == 2
