import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.tokenizing import tokenize


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The networks measured", ["network", "measur"]),
        ("BLEU of 28.4, p < .05", ["bleu", "28.4", "p", "0.05"]),
        ("1,234,567 and 1,000.5", ["1234567", "1000.5"]),
        ("GPT-3", ["gpt3", "gpt", "3"]),
        ("CRISPR-Cas9", ["crisprcas9", "crispr", "cas9"]),
        ("self-attention", ["selfattent", "self", "attent"]),
        ("state-of-the-art", ["stateoftheart", "state", "art"]),
        ("2017-2018 3–9", ["2017", "2018", "3", "9"]),
        ("top_k", ["topk", "top", "k"]),
        ("atten-\ntion", ["attent"]),
        ("atten\u00ad\r\n  tion co\u00adoperate", ["attent", "cooper"]),
        ("ﬁne Ｆｕｌｌ", ["fine", "full"]),
        ("naïve", ["naïv", "naiv"]),
        ("注意力", ["注", "意", "力", "注意", "意力"]),
        ("水 Transformerモデル", ["水", "transform", "モ", "デ", "ル", "モデ", "デル"]),
        ("نَصٌّ عربي", ["نَصٌّ", "نص", "عربي"]),
        ("α-synuclein", ["αsynuclein", "α", "synuclein"]),
        ("- _ -- . ! \x00", []),
        ("", []),
    ],
)
def test_terms(text, terms):
    assert tokenize(text) == terms


@given(st.text())
def test_anything_gives_terms_that_are_not_empty_and_each_time_the_same(text):
    terms = tokenize(text)
    assert all(terms)
    assert terms == tokenize(text)
