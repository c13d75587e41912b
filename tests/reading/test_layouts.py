"""First pages of made-up papers in the layouts of publishers, and names with loose accents."""

import pytest

from ragscience.reading.paper_metadata import metadata_of
from ragscience.reading.text_cleaning import plain_text
from tests.reading.pages import BOLD, RAISED, body, page, row

TITLE = row(90, 18, "Steering Ships in Dense Fog", flags=BOLD)
THREE = ("Ada Bee", "Carl de Dorn", "Eve M. Fox")


def read(*lines, file=None, text="", last=""):
    return metadata_of(page(*lines), file or {}, text, last)


def published(found):
    return (found.kind, found.venue, found.volume, found.number, found.pages, found.year)


LAYOUTS = {
    "IEEE transactions": (
        [
            row(30, 7, "IEEE Transactions on Maritime Systems, Vol. 12, No. 3, March 2010"),
            TITLE,
            row(130, 11, "Ada Bee, Student Member, IEEE, Carl de Dorn, and Eve M. Fox, Fellow, IEEE"),
        ],
        ("article", "IEEE Transactions on Maritime Systems", "12", "3", "", 2010),
    ),
    "ACM columns with e-mails": (
        [
            TITLE,
            row(130, 12, "Ada Bee", left=90),
            row(130, 12, "Carl de Dorn", left=260),
            row(130, 12, "Eve M. Fox", left=430),
            row(144, 10, "Harbour University", left=80),
            row(144, 10, "Tide Corporation", left=260),
            row(144, 10, "Harbour University", left=420),
            row(156, 10, "bee@harbour.edu", left=80),
            row(156, 10, "dorn@tide.com", left=260),
            row(156, 10, "fox@harbour.edu", left=420),
            row(710, 7, "FOGCON’13, June 15–20, 2013, Dublin, Ireland."),
        ],
        ("inproceedings", "FOGCON", "", "", "", 2013),
    ),
    "Springer lecture notes": (
        [
            TITLE,
            row(130, 10, "Ada Bee", ("1", RAISED), ", Carl de Dorn", ("2", RAISED), ", and Eve M. Fox", ("1", RAISED)),
            row(150, 9, "1 Harbour University, Oslo, Norway"),
            row(750, 8, "G. Gull (Ed.): FOG 2005, LNCS 3114, pp. 12–25, 2005."),
        ],
        ("inproceedings", "FOG", "3114", "", "12-25", 2005),
    ),
    "Elsevier": (
        [
            row(40, 7, "Ocean Engineering 172 (2008) 1140–1170"),
            row(60, 12, "Contents lists available at ScienceDirect"),
            row(90, 15, "Steering Ships in Dense Fog"),
            row(130, 12, "Ada Bee", ("a,∗", RAISED), ", Carl de Dorn", ("b", RAISED), ", Eve M. Fox", ("a", RAISED)),
            row(150, 7, "a Department of Ships, Harbour University, Oslo"),
        ],
        ("article", "Ocean Engineering", "172", "", "1140-1170", 2008),
    ),
    "BMC": (
        [
            row(30, 8, "Bee et al. BMC Ship Research 2014, 14:131"),
            row(70, 12, "RESEARCH ARTICLE"),
            TITLE,
            row(130, 11, "Ada Bee1*, Carl de Dorn2† and Eve M. Fox1,2"),
        ],
        ("article", "BMC Ship Research", "14", "", "131", 2014),
    ),
    "medical journal": (
        [
            TITLE,
            row(130, 10, "Dr. Ada Bee MD PhD, Carl de Dorn MSc, Eve M. Fox FRCP"),
            row(770, 7, "Sea Med J 2010;86:272–8. doi:10.1136/smj.2009.1DOI"),
        ],
        ("article", "Sea Med J", "86", "", "272-278", 2010),
    ),
    "society's journal of physics": (
        [
            row(30, 8, "Sea Phys. Lett. 98, 082505 (2011)"),
            TITLE,
            row(130, 10, "A. Bee, C. de Dorn, and E. M. Fox"),
        ],
        ("article", "Sea Phys. Lett.", "98", "", "082505", 2011),
    ),
    "proceedings of a meeting": (
        [
            TITLE,
            row(130, 12, "Ada Bee and Carl de Dorn and Eve M. Fox", flags=BOLD),
            row(755, 8, "Proceedings of the 5th Meeting on Fog, pages 73–81,"),
            row(765, 8, "Oslo, Norway, July 30, 2017. © 2017 Fog Society"),
        ],
        ("inproceedings", "5th Meeting on Fog", "", "", "73-81", 2017),
    ),
    "names in capitals": (
        [TITLE, row(130, 10, "ADA BEE, CARL DE DORN AND EVE M. FOX"), row(160, 10, "June 24, 2022")],
        ("", "", "", "", "", 2022),
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_authors_and_publication_of_a_layout(layout):
    lines, publication = LAYOUTS[layout]
    found = read(*lines, *body())
    assert found.title == "Steering Ships in Dense Fog"
    assert [name.split()[-1] for name in found.authors] == [name.split()[-1] for name in THREE]
    assert published(found) == publication


def test_the_doi_beside_cite_this_article_on_the_last_page_is_the_paper_s_own():
    last = "References 1. doi:10.1000/other\n" + "x " * 100 + "\ndoi:10.1186/1472-1\nCite this article as: Bee et al."
    assert read(TITLE, *body(), last=last).doi == "10.1186/1472-1"
    assert read(TITLE, *body(), last="References 1. doi:10.1000/other").doi == ""


@pytest.mark.parametrize(
    ("drawn", "meant"),
    [
        ("Franc¸ois", "François"), ("Fran¸cois", "François"), ("Franc ̧ois", "François"), ("S¸tefan", "Ştefan"),
        ("Garc´ıa", "García"), ("Garcı´a", "García"), ("Jos´e P´erez", "José Pérez"), ("Jose´ Pe´rez", "José Pérez"),
        ("Mu˜noz", "Muñoz"), ("Mun˜oz", "Muñoz"), ("Jo˜ao", "João"), ("M ¨uller", "Müller"), ("Mu¨ller", "Müller"),
        ("Mikul´aˇs Dvoˇr´ak", "Mikuláš Dvořák"), ("Erd˝os", "Erdős"), ("na¨ıve", "naïve"),
        ("Ana ´Alvarez", "Ana Álvarez"),
        ("`attention' is", "`attention' is"),
    ],
)  # fmt: skip
def test_accents_beside_their_letters(drawn, meant):
    assert plain_text(drawn) == meant
