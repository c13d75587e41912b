"""Three papers that we made up, and what can be asked of them."""

from tests.pdf_factory import make_pdf, make_scan

BEES = [
    "Navigation of honeybees in fog\n\nHoneybees steer by polarised light.\nIn dense fog they fly slower.",
    "We tracked 412 bees with harmonic radar.\nThe mean flight speed in fog was 3.7 metres per second.",
]
KILNS = [
    "Firing porcelain in a tunnel kiln\n\nThe glaze matures at 1280 degrees Celsius.\n"
    "Cobalt oxide gives the blue colour of the glaze."
]
TIDES = [
    "Predicting tides with the Kelvin-7 machine\n\nThe machine sums ten harmonic constituents.",
    "Its largest error at Dover was 12 centimetres.",
    "A brass wheel stands for each constituent of the tide.",
]


SAID = {
    "harmonic radar": (("Harmonic radar", "USES", "Transponder X2"), ("Transponder X2", "PART_OF", "Bee tag")),
    "Kelvin-7": (("Kelvin-7", "USES", "Brass wheel"), ("Kelvin-7", "EVALUATED_ON", "Dover tides")),
}
"""What the papers are said to relate, by words of the passage."""


def fill(folder):
    """The three papers as PDFs in `folder`."""
    make_pdf(folder / "bees.pdf", BEES, title="Navigation of honeybees in fog")
    make_pdf(folder / "kilns.pdf", KILNS)
    make_pdf(folder / "more" / "tides.pdf", TIDES)


def spoil(folder):
    """Files that are no papers, each in its own way."""
    make_pdf(folder / "locked.pdf", ["Secret"], user_password="open sesame")
    make_scan(folder / "scan.pdf")
    (folder / "page.pdf").write_bytes(b"<html><body>404 not found</body></html>")
    (folder / "empty.pdf").write_bytes(b"")
