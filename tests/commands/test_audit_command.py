"""`query.py audit` as a command: what is kept of each answer."""

import json

SPEED = "How fast do bees fly in fog?"


def test_an_answer_is_kept_and_shown(own):
    options = ("-k", "3", "--paper", "bees", "--strict")
    answer = own.json("query.py", "ask", SPEED, *options)
    record = own.json("query.py", "audit", answer["answer_id"][:6])
    assert record["question"] == SPEED
    assert record["answer"] == answer["answer"]
    assert record["trace_id"] == answer["trace_id"]
    assert (record["k"], record["strict"], record["filters"]["papers"]) == (3, True, ["bees"])
    assert [item["path"] for item in record["passages"]] == [item["path"] for item in answer["hits"]]
    assert [item["scores"] for item in record["passages"]] == [item["scores"] for item in answer["hits"]]
    ledger = json.loads((own.home / "ingested.json").read_text())
    assert record["passages"][0]["md5"] in json.dumps(ledger)
    assert len(record["models"]["embedder"]["digest"]) == 64
    assert record["models"]["reranker"]["digest"] == record["models"]["embedder"]["digest"]


def test_a_record_says_the_turns_before_and_what_the_agent_did(own):
    own.query("ask", SPEED, "--chat", "talk")
    last = own.json("query.py", "ask", "And what do they steer by?", "--chat", "talk", "--agent")
    record = own.json("query.py", "audit", last["answer_id"])
    assert [turn["question"] for turn in record["history"]] == [SPEED]
    assert record["history"][0]["passages"][0]["md5"] in {item["md5"] for item in record["passages"]}
    assert (record["agent"], record["trace"][0]["node"]) == (True, "decompose_query")
    shown = " ".join(own.query("audit", "last").out.split())
    assert "agent yes" in shown
    own.ingest("remove", "bees")
    assert "(This paper is no longer in the library.)" in own.query("audit", "last").out


def test_the_log_outlives_the_conversations_and_is_deleted_as_a_whole(own):
    own.query("ask", SPEED)
    assert own.query("history", "delete", "--all", "--yes").code == 0
    assert SPEED.split()[-1] in own.query("audit").out
    assert "1 audit record deleted." in own.query("audit", "--delete-all", "--yes").err
    assert own.json("query.py", "audit")["answers"] == []
