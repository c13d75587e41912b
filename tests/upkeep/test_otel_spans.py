"""SpanSender: the tree by itself, and what OpenTelemetry's SDK makes of it."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.upkeep import otel_spans as spans_module
from ragscience.upkeep.otel_spans import open_spans, span_tree
from tests.upkeep.asked_made import OWN, SEARCH, TRACE, asked, asked_of_a_model, stage


def tree(account, **more):
    """Each span's way from the root."""
    spans = span_tree(account, **{"with_questions": False, **more})

    def way(number):
        above = spans[number].parent
        return spans[number].name if above is None else f"{way(above)} > {spans[number].name}"

    return [way(number) for number in range(len(spans))]


def attributes(account, name, *, with_questions=False):
    return next(span.attributes for span in span_tree(account, with_questions=with_questions) if span.name == name)


def test_stages_stand_inside_what_they_are_a_part_of():
    graph = (stage("graph", 8, 1), stage("gear", 9, 1), stage("late", 11, 2), stage("rerank", 14, 5))
    assert tree(asked_of_a_model(search=(*SEARCH, *graph))) == [
        "ask",
        "ask > search",
        "ask > search > retrieval",
        "ask > search > retrieval > embed",
        "ask > search > retrieval > dense",
        "ask > search > retrieval > bm25",
        "ask > search > retrieval > graph",
        "ask > search > retrieval > gear",
        "ask > search > late",
        "ask > search > rerank",
        "ask > llm",
        "ask > check",
    ]


def test_the_model_and_its_tokens_are_named_as_the_conventions_say():
    assert attributes(asked_of_a_model(), "llm") == {
        "gen_ai.request.model": "llama3.1:8b",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ollama",
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.output_tokens": 40,
    }
    assert attributes(asked_of_a_model(), "embed")["gen_ai.operation.name"] == "embeddings"
    rerank = attributes(asked_of_a_model(search=(stage("rerank", 3, 2),)), "rerank")
    assert rerank == {"gen_ai.request.model": "ms-marco"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example:4318"}, "to collector.example"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "collector.example:4317"}, "to collector.example"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1.example"}, "to 127.0.0.1.example"),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "zipkin"),
    ],
)
def test_offline_sends_nothing_away(more, said):
    with pytest.raises(UsageError, match=said):
        open_spans({"OTEL_TRACES_EXPORTER": "otlp", **more}, with_questions=False, offline=True)


def test_otlp_sends_to_the_collector_that_is_configured(monkeypatch):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    got = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        }
        for key, text in environment.items():
            monkeypatch.setenv(key, text)
        spans = open_spans(environment, with_questions=False, offline=True)
        spans.record(asked_of_a_model())
        spans.close()
        server.shutdown()
    ((path, body),) = got
    assert path == "/v1/traces"
    (scope,) = ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans
    assert {span.trace_id.hex() for span in scope.spans} == {TRACE}
    assert {span.name for span in scope.spans} == {"ask", *(each.name for each in (*SEARCH, *OWN[:-1]))}


def test_a_collector_that_does_not_answer_is_given_up(monkeypatch):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    monkeypatch.setattr(spans_module, "FLUSH_SECONDS", 0.05)  # how long is waited, not what is done then
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    spans = open_spans({"OTEL_TRACES_EXPORTER": "otlp"}, with_questions=False, offline=True)
    spans.record(asked())
    with pytest.raises(RagScienceError, match="did not take the spans"):
        spans.close()
