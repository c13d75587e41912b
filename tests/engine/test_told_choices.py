"""Choices of models are told once: what was told last is kept, and anything else is told again."""

from ragscience.engine.shared_parts import ToldChoices


def test_a_choice_is_new_once_and_again_when_it_changes_and_changes_back(tmp_path):
    told = ToldChoices(tmp_path / "told.json")
    asked = ["quotes", "quotes", "llama", "llama", "quotes"]
    assert [told.is_new("llm", text) for text in asked] == [True, False, True, False, True]
    assert ToldChoices(tmp_path / "told.json").is_new("llm", "quotes") is False


def test_each_part_has_its_own_and_nothing_to_say_is_not_new(tmp_path):
    told = ToldChoices(tmp_path / "told.json")
    assert told.is_new("llm", "quotes")
    assert told.is_new("reranker", "quotes")
    assert not told.is_new("reranker", "")
    assert told.is_new("reranker", "quotes"), "it was another one in between"


def test_a_file_that_is_gone_or_damaged_or_cannot_be_written_is_no_error(tmp_path):
    path = tmp_path / "told.json"
    told = ToldChoices(path)
    assert told.is_new("llm", "quotes")
    path.unlink()
    assert told.is_new("llm", "quotes")
    for damaged in (b"{", b"[1]", b"\xff", b'{"llm": 1}'):
        path.write_bytes(damaged)
        assert told.is_new("llm", "quotes")
    nowhere = ToldChoices(tmp_path / "no" / "folder" / "told.json")
    assert nowhere.is_new("llm", "quotes")
    assert nowhere.is_new("llm", "quotes")
    assert not (tmp_path / "no").exists()
    (tmp_path / "a folder").mkdir()
    assert ToldChoices(tmp_path / "a folder").is_new("llm", "quotes")
