import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ragscience.core.errors import UsageError
from ragscience.library.history import History
from ragscience.library.langchain_history import chat_message_history

from .making import turn


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite"


def said(history):
    return [(message.type, message.text) for message in history.messages]


def test_a_kept_conversation_is_read_as_messages(path):
    with History.open_for_writing(path) as history:
        number = history.add([turn("How fast?", "Fast.", answer_id="abc", at="2026-01-31")], name="bees")
    for session_id in ("bees", str(number)):
        messages = chat_message_history(path, session_id).messages
        assert [(message.type, message.text) for message in messages] == [("human", "How fast?"), ("ai", "Fast.")]
        assert messages[1].response_metadata == {
            "answer_id": "abc",
            "searched": "searched: How fast?",
            "created_at": "2026-01-31",
        }


def test_messages_that_are_added_are_turns(path):
    history = chat_message_history(path, "thesis")
    assert history.messages == []
    history.add_messages([HumanMessage("one?"), AIMessage("1"), HumanMessage("two?")])
    assert said(history) == [("human", "one?"), ("ai", "1"), ("human", "two?")]
    assert said(chat_message_history(path, "thesis")) == [("human", "one?"), ("ai", "1")]
    history.add_ai_message("2")
    assert said(chat_message_history(path, "thesis")) == said(history)
    with History.open(path) as kept:
        assert kept.named("thesis").turns == 2
        assert kept.search("two", 5)[0].answer.models["llm"] is None
    assert "Human: two?" in str(history)


def test_clearing_deletes_that_conversation_alone(path):
    for name in ("one", "two"):
        chat_message_history(path, name).add_messages([HumanMessage("?"), AIMessage("!")])
    one = chat_message_history(path, "one")
    one.clear()
    assert one.messages == []
    one.clear()
    with History.open(path) as kept:
        assert [item.name for item in kept.conversations()] == ["two"]


@pytest.mark.parametrize(
    "messages",
    [[AIMessage("!")], [HumanMessage("?"), HumanMessage("?")], [SystemMessage("Obey.")]],
    ids=["answer first", "two questions", "system"],
)
def test_what_is_no_turn_is_refused_and_nothing_kept(path, messages):
    history = chat_message_history(path, "thesis")
    with pytest.raises(UsageError):
        history.add_messages(messages)
    assert history.messages == []


def test_a_number_means_a_conversation_that_is_there(path):
    with pytest.raises(UsageError, match="no conversation 12"):
        chat_message_history(path, "12").add_messages([HumanMessage("?"), AIMessage("!")])
    with pytest.raises(UsageError):
        chat_message_history(path, "")


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_it_is_langchains_own_memory(path):
    """A chain of LangChain's that keeps what it says: the interface is the one that its runnables expect."""
    from langchain_core.runnables import RunnableLambda
    from langchain_core.runnables.history import RunnableWithMessageHistory

    answered = RunnableLambda(lambda messages: AIMessage(f"{len(messages)} messages"))
    chain = RunnableWithMessageHistory(answered, lambda session_id: chat_message_history(path, session_id))
    for question in ("one?", "two?"):
        chain.invoke([HumanMessage(question)], config={"configurable": {"session_id": "chain"}})
    assert said(chat_message_history(path, "chain")) == [
        ("human", "one?"),
        ("ai", "1 messages"),
        ("human", "two?"),
        ("ai", "3 messages"),
    ]
