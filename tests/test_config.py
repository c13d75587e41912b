import pytest

from config import Settings, load_settings
from ragscience.errors import UsageError


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch):
    import os

    for name in list(os.environ):
        if name.upper().startswith("RAG_"):
            monkeypatch.delenv(name)


def test_the_guides_values():
    settings = load_settings()
    assert (settings.chunk_size, settings.chunk_overlap) == (1500, 200)
    assert settings.separators == ("\n\n", "\n", ". ", " ", "")
    assert (settings.top_k_candidates, settings.top_k) == (20, 4)
    assert (settings.dense_weight, settings.bm25_weight, settings.temperature) == (0.7, 0.3, 0)
    assert settings.llm == "llama3.1:8b"
    assert settings.embedding_model == "nomic-embed-text"
    assert settings.reranker == "cross-encoder/ms-marco-MiniLM-L-6-v2"


def test_the_environment_overrides_and_a_flag_overrides_it(monkeypatch):
    monkeypatch.setenv("RAG_TOP_K", "7")
    assert load_settings().top_k == 7
    assert load_settings(top_k=9).top_k == 9
    assert load_settings(top_k=None).top_k == 7


@pytest.mark.parametrize("name", ["ollama_url", "arxiv_url"])
def test_an_address_with_a_password_is_refused_and_the_password_is_not_repeated(name):
    with pytest.raises(UsageError, match=f"{name} is .*//…@127.0.0.1.* a user name or a password") as caught:
        load_settings(**{name: "http://me:hunter2@127.0.0.1:9/api"})
    assert "hunter2" not in str(caught.value)


def test_a_home_is_a_full_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_HOME", "here")
    assert load_settings().home == tmp_path / "here"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"dense_weight": 0.5}, r"dense_weight 0\.5 and bm25_weight 0\.3 must add up to 1"),
        ({"chunk_overlap": 1500}, r"chunk_overlap 1500 must be below chunk_size 1500"),
        ({"top_k": "many"}, r"top_k is 'many'.*integer"),
        ({"chunk_size": 10}, r"chunk_size is 10.*greater than or equal to 50"),
        ({"rerank": "magic"}, r"rerank is 'magic'.*'auto'"),
        ({"colour": "red"}, r"no setting colour"),
        ({"ollama_url": "localhost"}, r"ollama_url is 'localhost'"),
    ],
)
def test_a_wrong_setting_is_one_line_with_name_value_and_what_is_allowed(flags, said):
    with pytest.raises(UsageError, match=said) as caught:
        load_settings(**flags)
    assert "\n" not in str(caught.value)
    assert "docs/config.md" in str(caught.value)


def test_an_unknown_name_in_the_environment_is_refused(monkeypatch):
    monkeypatch.setenv("RAG_TOPK", "7")
    with pytest.raises(UsageError, match="RAG_TOPK"):
        load_settings()


def test_a_list_that_is_no_list_is_refused(monkeypatch):
    monkeypatch.setenv("RAG_SEPARATORS", "not json")
    with pytest.raises(UsageError, match="separators"):
        load_settings()


def test_every_setting_says_what_it_is_for():
    assert all(field.description for field in Settings.model_fields.values())
