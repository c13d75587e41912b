"""Who cites whom, by the lists of references."""

import hashlib
import json

import numpy as np
import pytest

from ragscience.core.records import EmbedderIdentity
from ragscience.graph.citing import Citations
from ragscience.library.atomic_files import Home
from ragscience.library.paper_contents import NewPaper
from ragscience.library.store import Library
from ragscience.reading.chunking import chunk_document
from tests.pdf_factory import make_pdf
from tests.shared_data import needs_shared_data, shared_papers

EDGES = """
attention_is_all_you_need: layernorm bahdanau resnet adam
bert: elmo attention_is_all_you_need
chain_of_thought: bert instructgpt elmo
detectgpt: bert gpt2
elmo: layernorm adam
flashattention: bert gpt2 attention_is_all_you_need
futoma2017_sepsis: adam
gpt2: layernorm bert elmo attention_is_all_you_need
instructgpt: gpt2
layernorm: adam
lora: layernorm bert adam gpt2 attention_is_all_you_need
neural_ode: resnet adam
pagerank: hits
rag: bert realm adam gpt2 attention_is_all_you_need
realm: bahdanau bert elmo gpt2
retro: bert rag gpt2 attention_is_all_you_need realm
"""
"""Who cites whom among the shared papers, by reading their lists of references."""


@pytest.fixture
def shared_library(tmp_path):
    """The shared papers as they are read, with vectors that say nothing."""
    library = Library.open_for_writing(Home(tmp_path))
    library.set_identity(EmbedderIdentity("embedded", "none", "0", 4), "none")
    for name, document in shared_papers().items():
        chunks = chunk_document(document, size=1500, overlap=200)
        vectors = np.tile(np.array([1, 0, 0, 0], np.float32), (len(chunks), 1))
        md5 = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
        library.add_paper(NewPaper(str(tmp_path / name), md5, 1, 1, document, chunks, vectors))
    return library


@needs_shared_data
def test_the_citations_among_the_shared_papers(shared_library):
    wanted = {
        (citing, cited)
        for line in EDGES.strip().splitlines()
        for citing, _, names in [line.partition(": ")]
        for cited in names.split()
    }
    names = {name for pair in wanted for name in pair}

    def name_of(paper):
        return max((name for name in names if paper.file.startswith(name)), key=len)

    found = {(name_of(one.citing), name_of(one.cited)) for one in Citations.of(shared_library).all}
    assert found == wanted
    cited = {(name_of(one.citing), name_of(paper))
             for paper in shared_library.papers() for one in Citations(shared_library).to(paper)}  # fmt: skip
    assert cited == wanted, "the index of words finds the same papers"


def test_related_says_who_is_cited_and_who_cites(commands):
    papers = commands.home / "papers"
    said = "This work is about the storage of many things on many machines, and about what it costs.\n" * 6
    entries = (
        "References\n[1] M. Shelley. Logs are all that a store needs. In Proceedings of Stores, 1999.\n"
        "[2] B. Stoker. Trees at night. Journal of Trees, 1897. doi:10.1000/trees.7"
    )
    for name, title, author, end in (
        ("old.pdf", "Logs Are All That a Store Needs", "Mary Shelley", ""),
        ("new.pdf", "A Store With Trees", "Bram Stoker", f"\n\n{entries}"),
    ):
        text = f"{title}\n\n{author}\n\nAbstract\n{said}\n1 Introduction\n{said}{end}"
        make_pdf(papers / name, [text], title=title)
    commands.ingest()
    found = json.loads(commands.query("related", "new.pdf", "--json").out)
    assert [one["file"] for one in found["cites"]] == ["old.pdf"]
    assert found["cited_by"] == []
    assert found["cites_elsewhere"] == ["10.1000/trees.7"]
    other = json.loads(commands.query("related", "old.pdf", "--json").out)
    assert [one["file"] for one in other["cited_by"]] == ["new.pdf"]
    assert "cites it" in commands.query("related", "old.pdf").out
    commands.query("export", "--markdown", commands.home / "notes")
    (note,) = (commands.home / "notes" / "papers").glob("stoker*.md")
    (cited,) = (commands.home / "notes" / "papers").glob("shelley*.md")
    assert f"## Cites\n\n- [Logs Are All That a Store Needs]({cited.name})" in note.read_text()
    assert "## Cited by\n\n- [A Store With Trees]" in cited.read_text()
