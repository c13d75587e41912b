import pytest

from config import load_settings
from ragscience.core.errors import UsageError


@pytest.mark.parametrize("name", ["ollama_url", "llm_url", "embed_url", "arxiv_url"])
@pytest.mark.parametrize("address", ["http://[::1/api", "http://server:99999/api"])
def test_what_is_no_address_is_refused_before_it_is_used(name, address):
    with pytest.raises(UsageError, match="it is no address"):
        load_settings(**{name: address})


@pytest.mark.parametrize("name", ["ollama_url", "arxiv_url"])
def test_an_address_with_a_password_is_refused_and_the_password_is_not_repeated(name):
    with pytest.raises(UsageError, match=f"{name} is .*//…@127.0.0.1.* a user name or a password") as caught:
        load_settings(**{name: "http://me:hunter2@127.0.0.1:9/api"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"dense_weight": 0.5}, r"dense_weight 0\.5 and bm25_weight 0\.3 must add up to 1"),
        ({"chunk_overlap": 1500}, r"chunk_overlap 1500 must be below chunk_size 1500"),
        ({"top_k": "many"}, r"top_k is 'many': it must be a valid integer"),
        ({"chunk_size": 10}, r"chunk_size is 10: it must be greater than or equal to 50\."),
        (
            {"rerank": "magic"},
            r"rerank is 'magic': it must be 'auto', 'cross-encoder', 'late-interaction', 'llm' or 'off'\.",
        ),
        ({"colour": "red"}, r"no setting colour"),
        (
            {"ollama_url": "localhost"},
            r"ollama_url is 'localhost': it must be an address that starts with http:// or https://\.",
        ),
    ],
)
def test_a_wrong_setting_is_one_line_with_name_value_and_what_is_allowed(flags, said):
    with pytest.raises(UsageError, match=said) as caught:
        load_settings(**flags)
    assert "\n" not in str(caught.value)
    assert "docs/config.md" in str(caught.value)


def test_what_is_no_setting_is_a_warning_wherever_it_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("RAG_LLM_STEPS_FROM", "0")
    (tmp_path / "config.toml").write_text("topk = 9\ntop_k = 5\n")
    warnings = []
    assert load_settings(home=tmp_path, on_warning=warnings.append).top_k == 5
    assert len(warnings) == 2
    assert "There is no setting topk (in" in warnings[0]
    assert "it is ignored. Is it top_k?" in warnings[0]
    assert "There is no setting RAG_LLM_STEPS_FROM; it is ignored." in warnings[1]
