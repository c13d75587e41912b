"""`query.py config`: every setting with where it comes from, and lasting ones in config.toml."""

import pytest

from ragscience.core.settings import Settings, config_file, load_settings, load_with_sources
from tests.conftest import ROOT, Commands

VIEWER = 'pdf_viewer = "steal {file}"\n'


@pytest.fixture(autouse=True)
def own_configuration(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("RAG_OLLAMA_URL")


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("RAG_HOME", str(folder))
    return folder


@pytest.fixture
def config(home):
    return lambda *args, **env: Commands(home).query("config", *args, **env)


def test_flag_over_environment_over_config_toml_over_default(home, monkeypatch):
    (home / "config.toml").write_text("top_k = 6\nchunk_size = 900\nagent_iterations = 2\n")
    monkeypatch.setenv("RAG_TOP_K", "7")
    loaded = load_with_sources(agent_iterations=5)
    values = loaded.settings
    assert (values.top_k, values.chunk_size, values.agent_iterations) == (7, 900, 5)
    names = ("top_k", "chunk_size", "agent_iterations", "chunk_overlap", "home")
    assert [loaded.sources[name] for name in names] == [
        "environment", "config.toml", "flag", "default", "environment",
    ]  # fmt: skip


def test_everything_is_shown_with_where_it_comes_from(config, home):
    (home / "config.toml").write_text("top_k = 6\n")
    shown = config(RAG_CHUNK_SIZE="800")
    rows = {line.split()[0]: line.split()[-1] for line in shown.out.splitlines()[:-1]}
    assert list(rows) == list(Settings.model_fields)
    assert (rows["top_k"], rows["chunk_size"], rows["llm"]) == ("config.toml", "environment", "default")
    assert shown.out.splitlines()[-1].endswith(str(config_file(home)))
    explained = config("top_k")
    assert Settings.model_fields["top_k"].description in explained.out
    assert config("colour").code == 2


def test_a_script_has_its_own_folder_as_home_and_the_current_one_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_settings().home == tmp_path
    assert load_settings(default_home=ROOT).home == ROOT


def test_a_value_that_is_set_lasts_and_comments_stay(config, home):
    written = "# mine\ntop_k = 4  # few\n\n# later\nocr = true\n"
    config_file(home).write_text(written)
    done = config("set", "top_k", "6", "graph_entity_types", '["METHOD"]', "temperature", "0.5")
    assert (done.code, done.err) == (0, "")
    kept = config_file(home).read_text()
    assert kept.startswith(written.replace("top_k = 4", "top_k = 6"))
    values = load_settings()
    assert (values.top_k, values.graph_entity_types, values.temperature, values.ocr) == (6, ("METHOD",), 0.5, True)
    assert config("unset", "temperature", "graph_entity_types").code == 0
    assert config_file(home).read_text() == written.replace("top_k = 4", "top_k = 6")
    assert list(home.iterdir()) == [config_file(home)]


@pytest.mark.parametrize(
    ("content", "complaint", "fix"),
    [
        (b"[top_k]\nx = 1\n", "Setting top_k is", "config unset top_k"),
        (b"top_k = 'many'\n", "Setting top_k is 'many'", "config unset top_k"),
        (b"home = '/x'\n", "cannot set the home", "config unset home"),
        (b"top_k = \n", "it is not valid TOML", "Correct it"),
        (b"\xff", "it is not UTF-8", "Correct it"),
        (b"#" * 1_100_000, "longer than", "Correct it"),
    ],
)
def test_a_wrong_config_toml_is_said_with_the_way_out(config, home, content, complaint, fix):
    config_file(home).write_bytes(content)
    done = Commands(home).query("search", "fog")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 2)
    assert complaint in done.err
    assert fix in done.err
    if "unset" in fix:
        assert config(*fix.split()[1:]).code == 0
        assert config().code == 0


def test_what_somebody_elses_home_sets_runs_nothing_until_it_is_allowed(config, home):
    (home / "config.toml").write_text(VIEWER + "top_k = 6\nlog_file = 'q.log'\n")
    ran = Commands(home).query("profiles")
    assert ran.code == 0
    assert ran.err.count("\n") == 1
    assert "sets log_file, pdf_viewer: ignored" in ran.err
    assert "config allow" in ran.err
    values = load_settings()
    assert (values.pdf_viewer, values.log_file, values.top_k) == ("", "", 6)
    assert 'not allowed: pdf_viewer = "steal {file}"' in config().out
    assert "allowed: pdf_viewer" in config("allow").out
    values = load_settings()
    assert (values.pdf_viewer, values.log_file) == ("steal {file}", str(home / "q.log"))
    assert Commands(home).query("profiles").err == ""
    assert "There is nothing to allow" in config("allow").out


def test_only_that_very_content_in_that_home_is_allowed(config, home, tmp_path):
    (home / "config.toml").write_text(VIEWER)
    config("allow")
    (home / "config.toml").write_text(VIEWER.replace("steal", "other"))
    assert load_settings().pdf_viewer == ""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "config.toml").write_text(VIEWER)
    assert load_settings(home=elsewhere).pdf_viewer == ""


def test_what_the_user_sets_is_allowed_and_nothing_else_is(config, home):
    (home / "config.toml").write_text(VIEWER)
    assert config("set", "log_file", str(home / "mine.log"), "top_k", "6").code == 0
    values = load_settings()
    assert (values.pdf_viewer, values.log_file) == ("", str(home / "mine.log"))


def test_what_can_reach_beyond_the_home_is_guarded():
    from ragscience.core.settings import is_guarded

    reaching = {
        "home", "cache_folder", "pdf_viewer", "log_file", "ollama_url", "arxiv_url", "llm", "llm_url",
        "llm_key_file", "embed_url", "library", "papers", "reranker",
        "embedding_model", "trace_questions",
    }  # fmt: skip
    assert {name for name in Settings.model_fields if is_guarded(name)} == reaching


def test_what_is_no_setting_is_a_warning_wherever_it_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("RAG_LLM_STEPS_FROM", "0")
    (tmp_path / "config.toml").write_text("topk = 9\ntop_k = 5\n")
    warnings = []
    assert load_settings(home=tmp_path, on_warning=warnings.append).top_k == 5
    assert len(warnings) == 2
    assert "There is no setting topk (in" in warnings[0]
    assert "it is ignored. Is it top_k?" in warnings[0]
    assert "There is no setting RAG_LLM_STEPS_FROM; it is ignored." in warnings[1]
