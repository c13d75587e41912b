"""Extraction without an LLM: names, terms, acronyms, types, relations, on sentences that we made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.graph.extraction_json import encoded
from ragscience.graph.graph_records import (
    CO_OCCURS,
    ENTITY_TYPES,
    LONGEST_NAME,
    OPTIONAL_TYPES,
    RELATION_TYPES,
    canonical,
)
from ragscience.graph.lexicon import KNOWN
from ragscience.graph.local_extraction import MOST_TOGETHER, extract
from ragscience.graph.paper_terms import known_kind, paper_terms
from ragscience.graph.passage_words import is_shaped, read_words, short_forms
from tests.graph.passages import LSTM, found_in, kinds, names, passage, passages, said, terms_of


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("We use long short-term memory (LSTM) here.", [("LSTM", "long short-term memory")]),
        ("An LSTM (long short-term memory) network.", [("LSTM", "long short-term memory")]),
        ("Convolutional neural networks (CNNs) see.", [("CNN", "Convolutional neural networks")]),
        ("The named entity recognition (NER; see below) task.", [("NER", "named entity recognition")]),
        ("We saw it (Figure 3) and (see below) again.", []),
        ("Nothing of it matches (XYZ).", []),
        ("(ABC) at the very beginning", []),
        ("The result of the method (TRM) is one.", []),
    ],
)
def test_acronyms_are_read_with_what_they_stand_for(text, pairs):
    assert list(short_forms(text)) == pairs


@pytest.mark.parametrize("word", ["BERT", "MapReduce", "CIFAR-10", "kNN-LM", "Wikitext103", "LoRA", "BM25", "RoBERTa"])
def test_words_that_are_written_as_names_are(word):
    assert is_shaped(word)


@pytest.mark.parametrize(
    "word",
    ["Raft", "XIV", "W1", "Self-Attention", "McCann", "IO-aware", "4lra", "GPUs", "NLP4", "A", "2015", "iPad" * 9],
)
def test_words_that_are_written_as_words_formulas_people_or_machines_are_no_names(word):
    assert not is_shaped(word) or word == "NLP4"


def test_a_paper_that_defines_its_names_gives_them_with_their_types():
    found = kinds(*LSTM, title="FogNet: seeing through weather")
    assert found["fognet"] == "METHOD"
    assert found["skyview"] == "DATASET"
    assert "lstm" not in found, "it is known beforehand"
    first, second, third = found_in(*LSTM)
    assert ("LSTM", "METHOD") in names(first)
    assert ("SkyView", "DATASET") in names(second)
    assert ("BLEU", "METRIC") in names(third)
    assert first.aliases == (("LSTM", "long short-term memory"),)


def test_relations_are_read_with_their_direction_and_denials_are_none():
    first, second, third = found_in(*LSTM)
    assert ("FogNet", "USES", "long short-term memory") in said(first)
    assert said(second) == {("FogNet", "EVALUATED_ON", "SkyView"), ("FogNet", "IMPROVES", "LSTM")}
    assert not {each for each in said(third) if each[1] == "USES"}


@pytest.mark.parametrize(
    ("sentence", "relation"),
    [
        ("BERT uses dropout.", ("BERT", "USES", "dropout")),
        ("Dropout is used in BERT.", ("BERT", "USES", "Dropout")),
        ("BERT, which relies on self-attention, is large.", ("BERT", "USES", "self-attention")),
        ("BERT was trained with Adam.", ("BERT", "USES", "Adam")),
        ("We train a large BERT model using AdamW.", ("BERT", "USES", "AdamW")),
        ("BERT was trained for two days on WebText.", ("BERT", "USES", "WebText")),
        ("GPT-2 outperforms the previous best LSTM.", ("GPT-2", "IMPROVES", "LSTM")),
        ("The LSTM is outperformed by GPT-2.", ("GPT-2", "IMPROVES", "LSTM")),
        ("BERT is more accurate than ELMo.", ("BERT", "IMPROVES", "ELMo")),
        ("ELMo performs significantly worse than BERT.", ("BERT", "IMPROVES", "ELMo")),
        ("ELMo is slightly less accurate than BERT.", ("BERT", "IMPROVES", "ELMo")),
        ("ELMo underperforms BERT.", ("BERT", "IMPROVES", "ELMo")),
        ("BERT achieves a lower error rate than ELMo.", ("BERT", "IMPROVES", "ELMo")),
        ("BERT achieves a lower accuracy than ELMo.", ("ELMo", "IMPROVES", "BERT")),
        ("BERT obtains higher perplexity than ELMo.", ("ELMo", "IMPROVES", "BERT")),
        ("BERT was more factual than ELMo in only 7.1 % of cases.", ("BERT", "COMPARES_TO", "ELMo")),
        ("BERT was more factual than ELMo in 7.1 % of cases.", ("BERT", "COMPARES_TO", "ELMo")),
        ("BERT was more factual than ELMo in 92 % of cases.", ("BERT", "IMPROVES", "ELMo")),
        ("BERT outperforms ELMo on just two of nine tasks.", ("BERT", "COMPARES_TO", "ELMo")),
        ("Although BERT outperforms ELMo, it is slower.", ("BERT", "COMPARES_TO", "ELMo")),
        ("We ask what it takes if BERT outperforms ELMo.", ("BERT", "COMPARES_TO", "ELMo")),
        ("BERT is compared to ELMo.", ("BERT", "COMPARES_TO", "ELMo")),
        ("We compare BERT with ELMo.", ("BERT", "COMPARES_TO", "ELMo")),
        ("RoBERTa needs ten times as many steps as it did, compared to ELMo.", ()),
        ("RoBERTa needs far more memory than ELMo.", ("RoBERTa", "COMPARES_TO", "ELMo")),
        ("RoBERTa is based on BERT.", ("RoBERTa", "BASED_ON", "BERT")),
        ("AdaGrad is applied to machine translation.", ("AdaGrad", "APPLIES_TO", "machine translation")),
        ("We apply dropout to the LSTM.", ("dropout", "APPLIES_TO", "LSTM")),
        ("BERT is evaluated on SQuAD.", ("BERT", "EVALUATED_ON", "SQuAD")),
        ("We evaluate BERT on SQuAD.", ("BERT", "EVALUATED_ON", "SQuAD")),
        ("The results of BERT on SQuAD are new.", ("BERT", "EVALUATED_ON", "SQuAD")),
        ("BERT 340M achieves a score of 93.2 on SQuAD.", ("BERT", "EVALUATED_ON", "SQuAD")),
        ("Self-attention is a core part of BERT.", ("Self-attention", "PART_OF", "BERT")),
        ("BERT consists of self-attention.", ("self-attention", "PART_OF", "BERT")),
        # What says nothing of the kind
        ("BERT does not use dropout.", ()),
        ("BERT rarely outperforms ELMo.", ()),
        ("None of the BERT models outperforms ELMo.", ()),
        ("A model (a larger BERT) outperforms ELMo.", ()),
        ("We compare the two models that are based on BERT with ELMo.", ()),
        ("BERT uses no dropout.", ()),
        ("We never train BERT with dropout.", ()),
        ("Does BERT use dropout?", ()),
        ("The size of BERT uses up what dropout leaves.", ()),
        ("We replaced BERT with ELMo.", ()),
        ("BERT is large. ELMo uses dropout; LSTM uses BERT.", ("ELMo", "USES", "dropout")),
        ("BERT may or may not be better, and who knows whether it uses dropout.", ()),
    ],
)
def test_what_a_sentence_says_of_two_entities(sentence, relation):
    (found,) = found_in(sentence)
    if relation:
        assert relation in said(found)
    else:
        assert not said(found)


def test_a_list_of_objects_is_one_relation_each():
    (found,) = found_in("BERT was evaluated on SQuAD, MNLI and GLUE (Wang, 2018), and ELMo on SNLI.")
    assert {each for each in said(found) if each[0] == "BERT"} == {
        ("BERT", "EVALUATED_ON", "SQuAD"),
        ("BERT", "EVALUATED_ON", "MNLI"),
        ("BERT", "EVALUATED_ON", "GLUE"),
    }
    assert ("ELMo", "EVALUATED_ON", "SNLI") in said(found)


def test_standing_together_is_a_weak_relation_and_bounded():
    (found,) = found_in("BERT and ELMo are here, as is SQuAD.")
    assert {each.relation for each in found.triples} == {CO_OCCURS}
    assert all(each.confidence < 0.5 for each in found.triples)
    pairs = "BERT met ELMo. GPT-2 met RoBERTa. LSTM met GRU. ALBERT met BART. T5 met XLNet. Adam met AdaGrad."
    many = " ".join(f"{pairs} {other} met SQuAD, MNLI and GLUE." for other in ("BERT", "GPT-3", "ELMo", "LSTM"))
    (found,) = found_in(many)
    assert len(found.triples) == MOST_TOGETHER
    (crowd,) = found_in("BERT, ELMo, GPT-2, RoBERTa, LSTM, GRU, ALBERT, BART, XLNet and SQuAD are names.")
    assert not crowd.triples


def test_a_relation_takes_the_place_of_standing_together():
    (found,) = found_in("BERT uses dropout. BERT and dropout again.")
    assert [each.relation for each in found.triples] == ["USES"]


def test_a_word_counts_as_a_known_name_only_as_names_are_written():
    assert known_kind("squad", "SQuAD", begins=False) == "DATASET"
    assert known_kind("squad", "squad", begins=False) == ""
    assert known_kind("race", "Race", begins=False) == ""
    assert known_kind("adam", "Adam", begins=True) == ""
    assert known_kind("adam", "Adam", begins=False) == "ALGORITHM"
    assert known_kind("attention", "attention", begins=False) == "CONCEPT"
    assert known_kind("accuracy", "accuracy", begins=False) == "METRIC"
    assert known_kind("nothing", "Nothing", begins=False) == ""
    (alone,) = found_in("The numbers have full precision.")
    assert not alone.mentions
    (both,) = found_in("Its precision and recall are high.")
    assert names(both) == {("precision", "METRIC"), ("recall", "METRIC")}


def test_terms_end_in_a_noun_that_tells_their_kind_and_stand_often_enough():
    told = [
        "The fog transducer uses a tidal embedding. Each tidal embedding is small.",
        "A drifting beam encoder reads it. The drifting beam encoder is slow.",
        "Our new method is good. Our new method is fast. The large model is a large model.",
        "The wave potentiation rises, wave potentiation falls, and wave potentiation stays.",
        "Here wave potentiation ends. There wave potentiation begins. Then wave potentiation is gone.",
        "The salt rate grows once.",
    ]
    found = kinds(*told)
    assert found["tidal embedding"] == "CONCEPT"
    assert found["beam encoder"] == "METHOD"
    assert found["wave potentiation"] == "CONCEPT"
    assert not {"method", "new method", "large model", "salt rate"} & set(found)


def test_a_term_is_not_cut_out_of_a_longer_one():
    often = [
        "The high bandwidth memory fills up.",
        "A high bandwidth memory is fast.",
        "Our high bandwidth memory.",
    ] * 2
    assert "high bandwidth memory" in kinds(*often)
    assert "bandwidth memory" not in kinds(*often)
    nested = ["The glacial beam encoder works."] * 3
    assert "glacial beam encoder" in kinds(*nested)
    assert "beam encoder" not in kinds(*nested)


@pytest.mark.parametrize(
    ("texts", "name", "kind"),
    [
        (["Results on FogBank are new.", "It was trained on FogBank."], "fogbank", "DATASET"),
        (["Data sets, datasets such as SkyView and FogBank exist.", "FogBank is small."], "fogbank", "DATASET"),
        (["FogScore is a new metric, in terms of FogScore.", "The FogScore score rose."], "fogscore", "METRIC"),
        (["The FogSort algorithm is fast.", "FogSort is an algorithm for fog."], "fogsort", "ALGORITHM"),
        (["We call it FogNet.", "FogNet, a model of fog, is new."], "fognet", "METHOD"),
        (["We call our model FogNet.", "We refer to this model as FogNet."], "fognet", "METHOD"),
        (["The Mistral algorithm is old. Our Mistral algorithm. A Mistral algorithm."], "mistral", "ALGORITHM"),
        (["BERT-Fog is here.", "BERT-Fog is there."], "bert fog", "METHOD"),
        (["We saw FogBank.", "FogBank is here."], "fogbank", None),
        (["FogBank, the FogBank dataset.", "See the FogBank model."], "fogbank", None),
        (["The V100 dataset is none.", "The V100 dataset is none."], "v100", None),
    ],
)  # fmt: skip
def test_the_words_around_a_name_tell_its_type(texts, name, kind):
    assert kinds(*texts).get(name) == kind


def test_heads_and_first_columns_of_tables_of_models_tell_types_too():
    table = "Table 1: FogBank and FogNet.\n| Model | FogBank | RainBank |\n|---|---|---|\n| FogNet | 1 | 2 |\n"
    chunks = [
        passage(table, 1, "table"),
        passage(table.replace("Table 1", "Table 2"), 2, "table"),
        passage("FogBank is here. FogNet is there.", 3),
        passage("See FogBank. See FogNet.", 4),
    ]
    found = paper_terms(chunks, "", frozenset(ENTITY_TYPES)).terms
    assert (found["fogbank"].kind, found["fognet"].kind) == ("DATASET", "METHOD")
    assert not paper_terms([passage("no rows", 1, "table")], "", frozenset(ENTITY_TYPES)).terms


def test_references_are_not_read():
    chunks = [passage("We propose FogNet. FogNet is a model.", 1, "reference")] * 3
    assert not paper_terms(chunks, "", frozenset(ENTITY_TYPES)).terms


def test_types_that_are_not_asked_for_are_not_found():
    texts = [
        "As Kingma et al. wrote, so it is. Fog forecasting is hard. OpenAI has the FogNet model.",
        "See Kingma et al. for it. The OpenAI models are large. Fog forecasting is easy. See OpenAI.",
        "The Institute of Weather (IOW) knows. Deep fog forecasting is new. Deep fog forecasting is good.",
    ]
    plain = kinds(*texts)
    assert {"PERSON", "ORGANISATION", "TASK"}.isdisjoint(plain.values())
    assert plain["fog forecasting"] == "CONCEPT"
    more = kinds(*texts, types=(*ENTITY_TYPES, *OPTIONAL_TYPES))
    assert (more["kingma"], more["openai"], more["fog forecasting"]) == ("PERSON", "ORGANISATION", "TASK")


def test_acronyms_take_the_type_of_what_they_stand_for():
    found = kinds(
        "A foggy beam network (FBN) is new. The tidal power deficiency (TPD) is not. A frozen rain (FR) fell."
    )
    assert found["fbn"] == found["foggy beam network"] == "METHOD"
    assert found["tpd"] == found["tidal power deficiency"] == "CONCEPT"
    assert "fr" not in found
    terms = terms_of("A foggy beam network (FBN) is new.")
    assert terms.aliases == {("FBN", "foggy beam network")}
    told = "We propose foggy beam translation (FBT). FBT, a model of fog, is good. We call it FBT."
    assert kinds(told)["fbt"] == "METHOD", "what the paper says of it counts more than its last word"


def test_a_word_broken_at_a_line_end_is_whole():
    words = read_words("We use multi-\nhead atten-\ntion of GPT-\n3.", "sentence")
    assert "GPT-3" in words.words
    assert "attention" in words.words


def test_extraction_is_the_same_each_time_and_does_not_lean_on_order():
    once = [encoded(each) for each in found_in(*LSTM)]
    assert once == [encoded(each) for each in found_in(*LSTM)]
    backwards = paper_terms(passages(*LSTM)[::-1], "", frozenset(ENTITY_TYPES))
    assert once == [encoded(extract(chunk, backwards)) for chunk in passages(*LSTM)]


PIECES = (
    "BERT", "uses", "dropout", "(LSTM)", "long short-term memory", ".", ",", "and", "|", "\n", "We propose", "FogNet",
    "outperforms", "on", "SQuAD", "not", "of", "ﬁne-tuning", "’s", "?", "λ", "𝑘NN-LM", "\x00", "et al.", "W1", "-",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join) | st.text(max_size=200))
def test_whatever_the_text_is_names_are_short_and_relations_are_between_them(text):
    (found,) = found_in(text)
    mentioned = {(each.name, each.entity_type) for each in found.mentions}
    for each in found.mentions:
        assert 0 < len(each.name) <= LONGEST_NAME
        assert each.entity_type in ENTITY_TYPES
        assert each.count >= 1
        assert 0 < each.confidence <= 1
    for each in found.triples:
        assert each.relation in (*RELATION_TYPES, CO_OCCURS)
        assert (each.subject, each.subject_type) in mentioned
        assert (each.object, each.object_type) in mentioned
        assert (each.subject_type, canonical(each.subject)) != (each.object_type, canonical(each.object))
    assert sum(each.relation == CO_OCCURS for each in found.triples) <= MOST_TOGETHER


def test_what_is_known_beforehand_has_a_type_that_is_looked_for():
    assert set(KNOWN.values()) == set(ENTITY_TYPES)
    assert all(canonical(name) == name for name in KNOWN)
