"""Small papers of words drawn from a seed, one that is broken, and runs of `ingest.py add` over them."""

import random

from ragscience.library.store import Home, Library
from tests.conftest import started
from tests.contents_hash import contents_hash
from tests.pdf_factory import make_pdf


def draw_papers(folder, count, pages=1):
    words = [f"word{number}" for number in range(400)]
    for number in range(count):
        dice = random.Random(number)
        texts = ["\n".join(" ".join(dice.choices(words, k=9)) for _ in range(12)) for _ in range(pages)]
        make_pdf(folder / f"paper{number:02}.pdf", texts, title=f"On {words[number]}")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    return folder


def start(home, papers, *options):
    """`ingest.py add` in a session of its own, as a terminal starts it: Ctrl-C goes to all its processes."""
    home.mkdir(exist_ok=True)
    env = {"RAG_OFFLINE": "1", "RAG_EMBEDDER": "embedded"}
    return started(home, "ingest.py", "add", papers, *options, env=env, start_new_session=True)


def read_all(home, papers, *options):
    """The contents of the library after a whole run, and what the run said."""
    with start(home, papers, *options) as process:
        said = process.stderr.read()
    assert process.returncode == 3, said
    assert "not read: broken.pdf" in said
    return contents(home), said


def contents(home):
    """How many papers the library has, and the hash of its contents."""
    with Library.open(Home(home)) as library:
        return library.about.papers, contents_hash(library)


def wait_for(said, process):
    """Read what the run says until it says this."""
    while said not in (line := process.stderr.readline()):
        assert line, "it ended"
