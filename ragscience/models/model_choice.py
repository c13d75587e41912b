"""Which embedder, reranker and LLM a run uses, and why.

| part     | `auto` takes the first that works                                                          |
|----------|--------------------------------------------------------------------------------------------|
| embedder | the library's own; else that of the server that is set, else Ollama's; else the built-in one |
| reranker | the cross-encoder if its files are on this machine; else late interaction, or none         |
| answer   | the model of the server that is set, else Ollama's; else none: the answer consists of quotes |

Only requests to these servers leave the machine, and when offline not even those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from ragscience.core.errors import LibraryUnavailable, ModelProblem, UsageError
from ragscience.models.ollama_api import Ollama

if TYPE_CHECKING:
    from ragscience.core.records import EmbedderIdentity
    from ragscience.models.model_protocols import Embedder, Reranker
    from ragscience.models.openai_api import OpenAIServer
    from ragscience.models.served_llm import ChatOptions, ServedLLM

__all__ = ["Choice", "ModelRow", "ModelSources", "choose_embedder", "choose_llm", "choose_reranker", "describe_models"]

Notify = Callable[[str], None]
Part = TypeVar("Part")
PULL = "python query.py models pull"
TOKENS = "python ingest.py rebuild --tokens"
REBUILD = "python ingest.py rebuild --embeddings"


@dataclass(frozen=True)
class Choice(Generic[Part]):
    """What was chosen (None: nothing), why in a few words, and a warning for the user, if any."""

    model: Part
    why: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class ModelSources:
    """How embedders are created."""

    ollama: Ollama
    cache_folder: Path
    """Cache folder of the built-in model's ONNX form."""
    on_warning: Notify
    batch_size: int
    """Texts in one request to a server."""
    server: OpenAIServer | None = None
    """The server with OpenAI's API that embeds, if one is set."""
    packed: bool = False
    """Whether the built-in model is made ready for many questions (`MiniLM`)."""
    model_is_set: bool = True
    """Whether somebody has set the model's name; else a server's only model is taken, whatever it is called."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One row of `query.py models`."""

    part: str
    """ "embedder", "reranker" or "answer"."""
    model: str | None
    """None if nothing is used."""
    where: str
    """A folder or an address; empty if nothing is used."""
    why: str
    digest: str
    """Digest of the weights, in hexadecimal; empty if it is not known without reading them."""
    warning: str = ""


def choose_embedder(
    setting: str,
    model: str,
    *,
    required: EmbedderIdentity | None,
    sources: ModelSources,
) -> Choice[Embedder]:
    """The embedder for a library: `required` is the one that made it, None while it is empty.

    `setting` is "auto", "embedded", "ollama", "openai" or "sentence-transformers"; `model` names the model of the last
    three.
    Raises ModelProblem when the chosen one is missing, LibraryUnavailable when the library needs another one.
    """
    if required is not None:
        return _required_embedder(setting, model, required, sources)
    if setting == "auto" and sources.server is not None:
        return Choice(_named_embedder("openai", model, sources), "RAG_EMBED_URL is set")
    if setting == "auto":
        ollama = sources.ollama
        full = ollama.status.find(model)
        if full is not None:
            return Choice(_ollama_embedder(full, sources), f"Ollama answers and has {full}")
        without = f"Ollama has no {model}" if ollama.status.running else ollama.status.why
        return Choice(_minilm(sources), without)
    chosen = _named_embedder(setting, model, sources)
    return Choice(chosen, f"the setting is {setting}")


def _named_embedder(provider: str, model: str, sources: ModelSources) -> Embedder:
    if provider == "embedded":
        return _minilm(sources)
    if provider == "ollama":
        return _ollama_embedder(sources.ollama.require(model), sources)
    if provider == "openai":
        server = _server(sources)
        full = server.require(model, is_set=sources.model_is_set, variable="RAG_EMBEDDING_MODEL")
        return _server_embedder(server, full, sources)
    if provider == "sentence-transformers":
        from ragscience.models.cross_encoder import find_on_this_machine
        from ragscience.models.sentence_transformers import SentenceTransformerEmbedder

        folder = find_on_this_machine(model)
        if folder is None:
            raise ModelProblem(
                f"The embedding model {model} is not on this machine.", "Name its folder in RAG_EMBEDDING_MODEL."
            )
        return SentenceTransformerEmbedder(folder, model)
    raise UsageError(
        f"There is no embedder {provider!r}.", "It is one of auto, embedded, ollama, openai and sentence-transformers."
    )


def _required_embedder(setting: str, model: str, required: EmbedderIdentity, sources: ModelSources) -> Choice[Embedder]:
    if setting not in ("auto", required.provider):
        raise _other_embedder(required, f"{setting}")
    if setting != "auto" and setting != "embedded" and model not in _names(required.model):
        raise _other_embedder(required, f"{setting}'s {model}")
    if required.provider == "ollama" and not sources.ollama.status.running:
        raise ModelProblem(
            f"This library was made with Ollama's {required.model}, and {sources.ollama.status.why}.",
            f"Start it with `ollama serve`, or give the library another embedder: `{REBUILD}`.",
        )
    if required.provider == "openai":
        embedder = _library_server_embedder(required, sources)
    else:
        embedder = _named_embedder(required.provider, required.model, sources)
    if embedder.identity != required:
        found = embedder.identity
        raise LibraryUnavailable(
            f"{required.model} is not what this library was made with: digest {found.digest[:12]}, dimension "
            f"{found.dimension}, instead of {required.digest[:12]}, {required.dimension}.",
            f"Rebuild the vectors with `{REBUILD}`.",
        )
    return Choice(embedder, "the library was made with it")


def _library_server_embedder(required: EmbedderIdentity, sources: ModelSources) -> Embedder:
    """The library's model on the server; the only one there, if it has another name, is judged by how it embeds."""
    server = _server(sources)
    if not server.status.running:
        raise ModelProblem(
            f"This library was made with {required.model} of a server, and {server.status.why}.",
            f"{server.remedy} Or give the library another embedder: `{REBUILD}`.",
        )
    full = server.require(required.model, is_set=False, variable="RAG_EMBED_URL")
    return _server_embedder(server, full, sources, required)


def _server(sources: ModelSources) -> OpenAIServer:
    if sources.server is None:
        raise ModelProblem(
            "Embeddings of a server with OpenAI's API need its address.",
            f"Set RAG_EMBED_URL, as http://127.0.0.1:8081/v1, or give the library another embedder: `{REBUILD}`.",
        )
    return sources.server


def _server_embedder(
    server: OpenAIServer, full: str, sources: ModelSources, required: EmbedderIdentity | None = None
) -> Embedder:
    from ragscience.models.openai_embedder import OpenAIEmbedder

    return OpenAIEmbedder(server, full, batch_size=sources.batch_size, required=required)


def _other_embedder(required: EmbedderIdentity, requested: str) -> LibraryUnavailable:
    return LibraryUnavailable(
        f"This library was made with {required.provider}'s {required.model}, and the settings ask for {requested}.",
        f"Rebuild the vectors with `{REBUILD}`, or set RAG_EMBEDDER=auto.",
    )


def _names(model: str) -> tuple[str, str]:
    return model, model.removesuffix(":latest")


def _minilm(sources: ModelSources) -> Embedder:
    from ragscience.models.minilm import MiniLM

    return MiniLM(cache_folder=sources.cache_folder, on_warning=sources.on_warning, packed=sources.packed)


def _ollama_embedder(full: str, sources: ModelSources) -> Embedder:
    from ragscience.models.ollama_embedder import OllamaEmbedder

    return OllamaEmbedder(sources.ollama, full, sources.ollama.status.models[full], batch_size=sources.batch_size)


def choose_reranker(
    setting: str, model: str, *, late: bool, cache_folder: Path, on_warning: Notify
) -> Choice[Reranker | None]:
    """The cross-encoder: `setting` is "auto", "cross-encoder", "late-interaction" or "off"; `model` a name or a folder.

    `late`: late interaction reranks if there is no cross-encoder. Raises ModelProblem when the cross-encoder
    was requested explicitly and is missing, or its folder is unusable.
    """
    if setting == "off":
        return Choice(None, "the setting is off")
    if setting == "late-interaction":
        return Choice(None, "the setting is late-interaction")
    if setting not in ("auto", "cross-encoder"):
        raise UsageError(
            f"There is no reranker {setting!r}.", "It is one of auto, cross-encoder, late-interaction and off."
        )
    from ragscience.models.cross_encoder import find_on_this_machine, open_cross_encoder

    folder = find_on_this_machine(model)
    if folder is not None:
        reranker = open_cross_encoder(folder, model, cache_folder=cache_folder, on_warning=on_warning)
        return Choice(reranker, f"its files are in {folder}")
    if setting == "cross-encoder":
        raise ModelProblem(f"The reranker {model} is not on this machine.", f"Fetch it with `{PULL}`.")
    if late:
        warning = f"{model} is not on this machine, so late interaction reranks the passages. `{PULL}` fetches it."
    else:
        warning = (
            f"{model} is not on this machine, and the library has no token vectors: the passages are not "
            f"reranked. `{PULL}` fetches it, or `{TOKENS}` adds them."
        )
    return Choice(None, "its files are not on this machine", warning)


def choose_llm(
    setting: str,
    model: str,
    *,
    ollama: Ollama,
    options: ChatOptions,
    server: OpenAIServer | None = None,
    is_set: bool = True,
) -> Choice[ServedLLM | None]:
    """The LLM, None for an answer of quotes: `setting` is "auto", "llm", "ollama" or "extractive".

    With a `server` that is the model's, but for "ollama"; a GgufServer runs it itself. `is_set`: somebody has set
    the model's name. The context window of the options is lowered to the model's own if that is smaller. Raises
    ModelProblem when a model was requested explicitly and is unavailable.
    """
    if setting == "extractive":
        return Choice(None, "the setting is extractive")
    if setting not in ("auto", "llm", "ollama"):
        raise UsageError(f"There is no answerer {setting!r}.", "It is one of auto, llm, ollama and extractive.")
    if server is not None and setting != "ollama":
        try:
            return _server_llm(server, model, options, is_set=is_set)
        except ModelProblem as problem:
            if setting == "llm":
                raise
            why = problem.message[:1].lower() + problem.message[1:].rstrip(".")
            return Choice(None, why, f"The answer is made of quotes. {problem}")
    return _ollama_llm(ollama, model, options, is_needed=setting != "auto")


def _server_llm(server: OpenAIServer, model: str, options: ChatOptions, *, is_set: bool) -> Choice[ServedLLM | None]:
    from ragscience.models.gguf_server import GgufLLM, GgufServer, check_gguf
    from ragscience.models.openai_llm import OpenAILLM, check_installed

    if isinstance(server, GgufServer):
        check_gguf(server.path)
        return Choice(GgufLLM(server, options=options), "RAG_LLM names a GGUF file")
    check_installed()
    full = server.require(model, is_set=is_set, variable="RAG_LLM")
    window = min(options.num_ctx, server.context_length(full) or options.num_ctx)
    others = sorted(name for name in server.status.models if name != full)
    more = f"; it also has {', '.join(others)}" if others else ""
    why = f"{server.setting} is set, and the server has it{more}"
    return Choice(OpenAILLM(server, full, options=replace(options, num_ctx=window)), why)


def _ollama_llm(ollama: Ollama, model: str, options: ChatOptions, *, is_needed: bool) -> Choice[ServedLLM | None]:
    full = ollama.require(model) if is_needed else ollama.status.find(model)
    if full is None and ollama.status.running:
        warning = f"Ollama has no {model}: the answer is made of quotes. `ollama pull {model}` fetches it."
        return Choice(None, f"Ollama has no {model}", warning)
    if full is None:
        return Choice(None, ollama.status.why)
    try:
        details = ollama.show(full)
    except ModelProblem as problem:
        if is_needed:
            raise
        return Choice(None, f"{full} cannot be used", f"The answer is made of quotes. {problem}")
    from ragscience.models.ollama_llm import OllamaLLM

    window = min(options.num_ctx, details.context_length or options.num_ctx)
    digest = ollama.status.models[full]
    llm = OllamaLLM(ollama, full, options=replace(options, num_ctx=window), digest=digest, details=details)
    return Choice(llm, "the setting is ollama" if is_needed else f"Ollama answers and has {full}")


def describe_models(
    *,
    embedder: Callable[[], Choice[Embedder]],
    reranker: Callable[[], Choice[Reranker | None]],
    llm: Callable[[], Choice[ServedLLM | None]],
    sources: ModelSources,
) -> Sequence[ModelRow]:
    """What each part would use, where its files are and why; an unavailable part says what would help.

    The arguments make the choices, so that a problem of one part does not affect the other rows.
    """
    return [
        _row("embedder", lambda: _embedder_row(embedder(), sources)),
        _row("reranker", lambda: _reranker_row(reranker())),
        _row("answer", lambda: _llm_row(llm())),
    ]


def _row(part: str, make: Callable[[], ModelRow]) -> ModelRow:
    try:
        return make()
    except (ModelProblem, LibraryUnavailable) as problem:
        return ModelRow(part, None, "", problem.message, "", problem.fix)


def _embedder_row(choice: Choice[Embedder], sources: ModelSources) -> ModelRow:
    identity = choice.model.identity
    if identity.provider == "ollama":
        where = sources.ollama.shown
    elif identity.provider == "openai":
        where = _server(sources).shown
    elif identity.provider == "embedded":
        from ragscience.models.minilm import find_minilm

        where = str(find_minilm())
    else:
        from ragscience.models.cross_encoder import find_on_this_machine

        where = str(find_on_this_machine(identity.model) or "")
    return ModelRow("embedder", identity.model, where, choice.why, identity.digest, choice.warning)


def _reranker_row(choice: Choice[Reranker | None]) -> ModelRow:
    if choice.model is None:
        return ModelRow("reranker", None, "", choice.why, "", choice.warning)
    from ragscience.models.cross_encoder import find_on_this_machine

    where = find_on_this_machine(choice.model.name)
    return ModelRow("reranker", choice.model.name, str(where or ""), choice.why, "", choice.warning)


def _llm_row(choice: Choice[ServedLLM | None]) -> ModelRow:
    if choice.model is None:
        return ModelRow("answer", None, "", choice.why, "", choice.warning)
    return ModelRow("answer", choice.model.name, choice.model.where, choice.why, choice.model.digest, choice.warning)
