import pytest

from ragscience.core.errors import FileProblem, UsageError
from ragscience.review.drafts import draft_of, read_draft


def read(text, name="draft.md"):
    """(line, column, text, what is cited) of each sentence that cites."""
    draft = draft_of(text, name)
    return [(one.line, one.column, one.text, [c.name for c in one.cited]) for one in draft.sentences if one.cited]


@pytest.mark.parametrize(
    ("text", "said", "cited"),
    [
        ("Bees fly slowly [@lee2019bees, p. 3].", "Bees fly slowly.", ["lee2019bees"]),
        ("Bees fly slowly [see @lee2019bees; @cho20].", "Bees fly slowly.", ["lee2019bees", "cho20"]),
        ("Bees fly, says @lee2019bees [p. 3].", "Bees fly, says.", ["lee2019bees"]),
        ("Bees fly slowly (bees.pdf, p.2).", "Bees fly slowly.", ["bees.pdf"]),
        ("Bees fly (Lee et al., 2019; Cho & Kim 2020).", "Bees fly.", ["Lee et al., 2019", "Cho & Kim 2020"]),
        ("Lee and Cho (2019, p. 4) saw slow bees.", "saw slow bees.", ["Lee and Cho 2019"]),
        ("Lee (2019) saw slow bees.", "saw slow bees.", ["Lee 2019"]),
        ("*Bees* fly `slowly` [@lee].", "Bees fly slowly.", ["lee"]),
        ("- Bees fly slowly [@lee].", "Bees fly slowly.", ["lee"]),
    ],
)  # fmt: skip
def test_what_a_sentence_cites_is_no_part_of_it(text, said, cited):
    assert [(one[2], one[3]) for one in read(text)] == [(said, cited)]


@pytest.mark.parametrize(
    "text",
    ["In 2017 bees flew.", "Write to a@b.org now.", "Bees [1] fly.", "```\nBees [@lee]\n```", "<!-- Bees [@lee] -->"],
)
def test_what_is_no_citation_is_none(text):
    assert read(text) == []


def test_sentences_have_their_lines_and_columns():
    text = "# Bees\n\nBees fly\nslowly [@a]. They\nrest in fog [@b].\n\nTides rise [@c].\n"
    assert [one[:2] for one in read(text)] == [(3, 1), (4, 14), (7, 1)]


def test_a_sentence_has_a_part_for_each_citation():
    found = read("Bees fly slowly in dense fog [@a], while tides rise twice every day [@b].")
    assert [(one[2], one[3]) for one in found] == [
        ("Bees fly slowly in dense fog", ["a"]),
        ("while tides rise twice every day.", ["b"]),
    ]


def test_numbers_cite_the_own_list_of_references():
    draft = draft_of(
        "Bees fly slowly [1, 3-4].\n\n## References\n\n[1] A. Lee. Bees\nin fog. 2019.\n[3] B. Cho. Tides.\n", "a.md"
    )
    assert [one.name for one in draft.sentences[0].cited] == ["1", "3", "4"]
    assert draft.references == {"1": "A. Lee. Bees in fog. 2019.", "3": "B. Cho. Tides."}


LATEX = r"""\documentclass{article}
\newcommand{\ours}{BeeNet}
\begin{document}
\section{Bees \cite{no}}
% A comment \cite{no}.
\ours{} flies \emph{slowly}
at 50\% fog~\citep[p.~3]{lee2019}. Erd\H{o}s saw $h=8$ bees \cite{a,b}.
\begin{figure} \caption{A bee \cite{no}} \end{figure}
\begin{thebibliography}{9}
\bibitem{lee2019} A. Lee. \emph{Bees in fog}.
\bibitem{a} B. Cho.
\end{thebibliography}
\end{document}
"""


def test_latex_is_read_as_it_is_set():
    draft = draft_of(LATEX, "thesis.tex")
    found = [(one.line, one.text, [(c.name, c.page) for c in one.cited]) for one in draft.sentences if one.cited]
    assert found == [
        (6, "BeeNet flies slowly at 50% fog.", [("lee2019", 3)]),
        (7, "Erdős saw h=8 bees.", [("a", 0), ("b", 0)]),
    ]
    assert draft.references == {"lee2019": r"A. Lee. \emph{Bees in fog}.", "a": "B. Cho."}


def test_included_files_are_read_within_the_folder_alone(tmp_path):
    (tmp_path / "draft" / "parts").mkdir(parents=True)
    (tmp_path / "outside.tex").write_text(r"Outside \cite{x}.")
    main = r"One fact is here \cite{a}. \input{parts/two} \input{../outside} \include{gone} % \input{never}"
    (tmp_path / "draft" / "main.tex").write_text(main + "\n\\addbibresource{refs.bib}")
    (tmp_path / "draft" / "parts" / "two.tex").write_text("\nOne fact is there \\cite{b}.\\input{main}")
    (tmp_path / "draft" / "refs.bib").write_text("@article{a, title={Bees in fog}, author={Lee, Ann}, year={2019}}")
    draft = read_draft(tmp_path / "draft" / "main.tex")
    assert [(one.file, one.line) for one in draft.sentences if one.cited] == [("main.tex", 1), ("parts/two.tex", 2)]
    assert list(draft.warnings) == [
        "../outside was not read: it is outside the draft's folder.",
        "gone was not read: there is no such file.",
    ]
    assert draft.references["a"].startswith("Ann Lee. Bees in fog. 2019")


def test_another_encoding_is_said(tmp_path):
    (tmp_path / "a.tex").write_bytes("Müller saw slow bees \\cite{a}.".encode("latin-1"))
    draft = read_draft(tmp_path / "a.tex")
    assert draft.sentences[0].text == "Müller saw slow bees."
    assert draft.warnings == ("a.tex is not in UTF-8: it was read as Latin-1.",)


def test_what_cannot_be_read_is_one_error(tmp_path):
    (tmp_path / "a.odt").write_bytes(b"x")
    (tmp_path / "a.md").write_bytes(b"\0\1\2")
    for name, error in (("a.odt", UsageError), ("none.md", UsageError), ("a.md", FileProblem)):
        with pytest.raises(error):
            read_draft(tmp_path / name)


def test_a_thesis_is_read_in_seconds():
    text = "\n\n".join(f"Bees of hive {at} fly slowly in fog [@key{at}]." for at in range(3000))
    assert len(draft_of(text, "thesis.md").sentences) == 3000
