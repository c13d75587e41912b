"""What can be typed in the chat besides questions, each through the command itself."""

import pytest

from tests.ollama_server import OllamaServer, chat_model, embedding_model

SPEED = "How fast do bees fly in fog?"
GLAZE = "At which temperature does the glaze mature?"


def typed(own, *lines, **environment):
    ran = own.query("chat", stdin="\n".join(lines).encode(), **environment)
    assert ran.code == 0, ran.err
    return ran


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/sorces", "Did you mean /sources?"),
        ("/xyzzy", "/help lists the commands."),
        ("/profile nosuch", "There is no profile 'nosuch'. Profiles: default, rrf"),
        ("/rename", "Give a name."),
        ("/rename 7", "a conversation's number"),
        ("/chat 77", "There is no conversation 77."),
        ("/save", "Give a file name: /save notes.md"),
        ('/paper "bees', "is not closed"),
        ("/model toy", "toy cannot be used: Ollama does not answer"),
    ],
)
def test_nonsense_is_answered_with_what_there_is(own, line, says):
    assert says in " ".join(typed(own, line).err.split())


def test_how_is_asked_can_be_changed(own):
    ran = typed(own, "/profile rrf", "/agent off", SPEED, "/why", "/profile")
    assert "Profile rrf: " in ran.err
    assert "(profile rrf)" in ran.out
    assert "Looked at " in ran.out
    assert "\n* rrf " in ran.out


def test_the_language_model_is_shown_and_switched(own):
    models = {"llama3.1:8b": chat_model(), "toy:latest": chat_model(), "nomic-embed-text:latest": embedding_model(768)}
    with OllamaServer(models=models) as server:
        server.default_reply = lambda _: "Bees fly at 3.7 metres per second in fog (bees.pdf, p.2)."
        lines = ("/model", "/model toy", SPEED, "/model", "/model none", SPEED, "/model nosuch")
        ran = typed(own, *lines, RAG_OLLAMA_URL=server.url, RAG_EMBEDDER="embedded")
        assert {body["model"] for body in server.of("/api/chat")} == {"toy:latest"}
    assert "* llama3.1:8b\n  toy:latest\n  none (quotes)\n" in ran.out
    assert "  llama3.1:8b\n* toy:latest\n" in ran.out
    assert "nomic" not in ran.out
    assert "toy:latest now writes the answers of this chat." in ran.err
    assert "Answers are quotes, without a language model." in ran.err
    assert "Ollama has no nosuch. It has llama3.1:8b, toy:latest" in " ".join(ran.err.split())
    turns = own.json("query.py", "history", "show")["turns"]
    assert [turn["mode"] for turn in turns] == ["llm", "extractive"]


def test_conversations_are_named_listed_and_switched(own):
    typed(own, SPEED, "/rename flight")
    ran = typed(own, GLAZE, "/rename flight", "/chat", "/chat flight", "And in clear air?", "/chat new one", GLAZE)
    assert "Another conversation is called 'flight'." in ran.err
    assert "flight" in ran.out
    assert f"Continuing “{SPEED}” (flight), 1 turn." in ran.err
    assert "A new conversation, new one." in ran.err
    listed = own.json("query.py", "history", "list")["conversations"]
    assert [(item["name"], item["turns"]) for item in listed] == [("new one", 1), ("flight", 2), (None, 1)]


def test_a_file_that_is_there_is_not_replaced_where_nobody_can_be_asked(own, tmp_path):
    (tmp_path / "a.md").write_text("Mine.")
    ran = typed(own, SPEED, f"/save {tmp_path}/a.md", f"/save {tmp_path}/b", f"/save {tmp_path}/c.pdf")
    assert " ".join(ran.err.split()).count("a.md already exists. Give another name.") == 1
    assert (tmp_path / "a.md").read_text() == "Mine."
    assert SPEED in (tmp_path / "b.md").read_text()
    assert "/save writes Markdown, not .pdf." in ran.err
    assert not (tmp_path / "c.pdf").exists()
