"""What is shown of a long text: the part that a question asks for."""

from ragscience.engine.printable import excerpt

LONG = (
    "At first there is much that nobody asked for at all. " * 4 + "The kiln reaches 1280 degrees. " + "Then more. " * 9
)


def test_an_excerpt_holds_what_was_asked_for_and_cuts_no_word():
    part = excerpt("How hot is the kiln, in degrees?", LONG, 60)
    assert part.startswith("… The kiln reaches 1280 degrees.")
    assert part.endswith(" …")
    assert len(part) <= 60
    assert set(part.split()) <= {*LONG.split(), "…"}
    assert excerpt("kiln", "Short\n text.", 60) == "Short text."
    assert excerpt("nothing of it", LONG, 40).startswith("At first there is")
