import io
import json
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.records import Document, Element, Line, Metadata, Page
from ragscience.reading.pdf_highlights import Mark
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.worker import perform, serve
from ragscience.reading.worker_protocol import (
    READY,
    Joining,
    Reading,
    decode_reply,
    encode_reply,
    encode_request,
)
from tests.pdf_factory import make_pdf

TEXT = st.text(st.characters(exclude_categories=()))
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
LINES = st.lists(st.builds(Line, st.integers(0), st.integers(0), st.tuples(NUMBER, NUMBER, NUMBER, NUMBER))).map(tuple)
PAGES = st.lists(st.builds(Page, st.integers(1), st.integers(0), st.integers(0), TEXT, LINES, TEXT)).map(tuple)
BOX = st.none() | st.tuples(NUMBER, NUMBER, NUMBER, NUMBER)
ELEMENT = st.builds(Element, st.integers(0), st.integers(0), TEXT, st.integers(1), st.integers(0), TEXT, BOX)
METADATA = st.builds(
    Metadata,
    TEXT,
    st.lists(TEXT).map(tuple),
    st.none() | st.integers(),
    TEXT,
    TEXT,
    TEXT,
    st.dictionaries(st.sampled_from(["title", "year"]), st.floats(0, 1)),
)
TEXTS = st.lists(TEXT).map(tuple)


@given(st.builds(Document, TEXT, PAGES, TEXT, TEXTS, st.lists(ELEMENT).map(tuple), METADATA))
def test_a_document_arrives_as_it_was_sent(document):
    line = encode_reply(document)
    assert line.count(b"\n") == 1
    assert decode_reply(line) == document


PATHS = TEXT.map(lambda name: Path("/" + name))
MARKS = st.lists(st.builds(Mark, TEXT, st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER)).map(tuple))).map(tuple)


def answers(requests, perform):
    replies = io.BytesIO()
    serve(io.BytesIO(b"".join(requests)), replies, perform)
    ready, *lines = replies.getvalue().splitlines(keepends=True)
    assert ready == READY
    return [decode_reply(line) for line in lines]


def test_each_request_is_answered_in_order(tmp_path):
    good = make_pdf(tmp_path / "good.pdf", ["text"])
    locked = make_pdf(tmp_path / "locked.pdf", ["secret"], user_password="pw")
    asked = [(good, ""), (tmp_path / "none.pdf", ""), (locked, "pw"), (locked, "")]
    first, second, third, fourth = answers([encode_request(Reading(*request)) for request in asked], perform)
    assert first == read_pdf(good)
    assert second.reason == "missing"
    assert third.text == "secret"
    assert fourth.reason == "encrypted"


def test_a_file_beyond_the_memory_is_too_large():
    def too_much(request):
        raise MemoryError

    asked = [Reading(Path("/big.pdf"), ""), Joining((Path("/a.pdf"),), Path("/big.pdf"))]
    for problem in answers(map(encode_request, asked), too_much):
        assert problem.reason == "too-large"
        assert "big.pdf" in problem.message


def test_stdout_carries_replies_alone_and_no_layout_models_are_loaded(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["text"])
    script = (
        "import sys\n"
        "from ragscience.reading import worker\n"
        "real = worker.read_pdf\n"
        "def noisy(path, password, *rest, **options):\n"
        "    import os\n"
        "    print('from Python'); sys.stdout.flush(); os.write(1, b'from C')\n"
        "    loaded = [n for n in ('onnxruntime', 'networkx', 'numpy') if n in sys.modules]\n"
        "    assert not loaded, loaded\n"
        "    return real(path, password)\n"
        "worker.read_pdf = noisy\n"
        "sys.exit(worker.main(['1000000000', '60']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=encode_request(Reading(path, "")),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    ready, reply = done.stdout.splitlines()
    assert json.loads(ready) == {"ready": True}
    assert decode_reply(reply) == read_pdf(path)
