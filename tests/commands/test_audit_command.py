"""`query.py audit` as a command: what is kept of each answer, and the same question asked again."""

import json

SPEED = "How fast do bees fly in fog?"
SAME, DIFFERENT = 0, 6


def listed(own):
    ran = own.query("audit", "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["answers"]


def kept(own, answer_id):
    ran = own.query("audit", answer_id, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def replayed(own, answer_id, **more):
    ran = own.query("audit", answer_id, "--replay", "--json", **more)
    told = json.loads(ran.out)
    assert ran.code == (SAME if told["same"] else DIFFERENT), ran.err
    return told


def test_an_answer_is_kept_shown_and_the_same_when_it_is_asked_again(own):
    options = ("-k", "3", "--paper", "bees", "--strict")
    answer = json.loads(own.query("ask", SPEED, "--json", *options).out)
    record = kept(own, answer["answer_id"][:6])
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

    told = replayed(own, answer["answer_id"])
    assert (told["same"], told["differences"]) == (True, [])
    assert len(listed(own)) == 1  # a replay is not kept


def test_the_log_outlives_the_conversations_and_is_deleted_as_a_whole(own):
    own.query("ask", SPEED)
    assert own.query("history", "delete", "--all", "--yes").code == 0
    assert SPEED.split()[-1] in own.query("audit").out
    assert "1 audit record deleted." in own.query("audit", "--delete-all", "--yes").err
    assert listed(own) == []
