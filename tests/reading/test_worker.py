import io
import json
import subprocess
import sys
from pathlib import Path

from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.worker import serve
from ragscience.reading.worker_protocol import (
    READY,
    Joining,
    PaperReading,
    decode_reply,
    encode_request,
)
from tests.pdf_factory import make_pdf


def answers(requests, perform):
    replies = io.BytesIO()
    serve(io.BytesIO(b"".join(requests)), replies, perform)
    ready, *lines = replies.getvalue().splitlines(keepends=True)
    assert ready == READY
    return [decode_reply(line) for line in lines]


def test_a_file_beyond_the_memory_is_too_large():
    def too_much(request):
        raise MemoryError

    asked = [PaperReading(Path("/big.pdf"), ""), Joining((Path("/a.pdf"),), Path("/big.pdf"))]
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
        input=encode_request(PaperReading(path, "")),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    ready, reply = done.stdout.splitlines()
    assert json.loads(ready) == {"ready": True}
    assert decode_reply(reply) == read_pdf(path)
