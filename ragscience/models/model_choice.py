"""Which embedder, reranker and LLM a run uses, and why.

| part     | `auto` takes the first that works                                                                 |
|----------|---------------------------------------------------------------------------------------------------|
| embedder | the library's own; else that of the server that is set, a known one that is named, Ollama's, ours |
| reranker | the cross-encoder if its files are on this machine; else late interaction, or none                |
| answer   | the model of the server that is set, else Ollama's; else none: the answer consists of quotes      |

Only requests to these servers leave the machine, and when offline not even those.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from ragscience.core.errors import LibraryUnavailable, ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.models.model_download import find_on_this_machine, hub_name, known_model
from ragscience.models.model_http import check_installed
from ragscience.models.model_protocols import Embedder, Reranker
from ragscience.models.model_servers import ModelServer, Ollama, OpenAIServer
from ragscience.models.served_llm import ChatOptions, ServedLLM

Notify = Callable[[str], None]
Part = TypeVar("Part", covariant=True)
PULL = "python query.py models pull"
REBUILD = "python ingest.py rebuild --embeddings"


@dataclass(frozen=True)
class ModelChoice(Generic[Part]):
    """What was chosen (None: nothing), why in a few words, where it is, and a warning for the user, if any."""

    model: Part
    why: str
    warning: str = ""
    where: str = ""
    """A folder or an address."""


@dataclass(frozen=True, slots=True)
class ModelSources:
    """How models are made."""

    ollama: Ollama
    cache_folder: Path
    """Cache folder of the ONNX form of models."""
    on_warning: Notify
    server: OpenAIServer | None = None
    """The server with OpenAI's API for this part, if one is set."""
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
    setting: str, model: str, *, required: EmbedderIdentity | None, sources: ModelSources
) -> ModelChoice[Embedder]:
    """The embedder for a library: `required` is the one that made it, None while it is empty.

    `setting` is "auto", "embedded", "ollama", "openai" or "sentence-transformers"; `model` names the model of the last
    three. Raises ModelProblem when the chosen one is missing, LibraryUnavailable when the library needs another one.
    """
    ollama = sources.ollama
    if required is not None:
        return _required_embedder(setting, model, required, sources)
    if setting != "auto":
        return _named_embedder(setting, model, sources, f"the setting is {setting}")
    if sources.server is not None:
        return _named_embedder("openai", model, sources, "RAG_EMBED_URL is set")
    if known_model(model) is not None:
        return _named_embedder("sentence-transformers", model, sources, "RAG_EMBEDDING_MODEL names it")
    if ollama.status.find(model):
        return _named_embedder("ollama", model, sources, f"Ollama answers and has {ollama.status.find(model)}")
    without = f"Ollama has no {model}" if ollama.status.running else ollama.status.why
    return _named_embedder("embedded", model, sources, without)


def _named_embedder(
    provider: str, model: str, sources: ModelSources, why: str, required: EmbedderIdentity | None = None
) -> ModelChoice[Embedder]:
    if provider == "embedded":
        from ragscience.models.minilm import MiniLM

        embedded = MiniLM(cache_folder=sources.cache_folder, on_warning=sources.on_warning)
        return ModelChoice(embedded, why)
    if provider in ("ollama", "openai"):
        from ragscience.models.served_embedder import ServedEmbedder

        server: ModelServer | None = sources.ollama if provider == "ollama" else sources.server
        if server is None:
            raise ModelProblem(
                "Embeddings of a server with OpenAI's API need its address.",
                f"Set RAG_EMBED_URL, as http://127.0.0.1:8081/v1, or give the library another embedder: `{REBUILD}`.",
            )
        if required is not None and not server.status.running:
            what = f"This library was made with {server.called}'s {required.model}, and {server.status.why}."
            raise ModelProblem(what, f"{server.remedy} Or give the library another embedder: `{REBUILD}`.")
        full = server.require(model, is_set=sources.model_is_set and required is None)
        digest = server.status.models[full]
        return ModelChoice(ServedEmbedder(server, full, digest=digest, required=required), why, where=server.shown)
    from ragscience.models.local_models import open_embedder

    folder, model = find_on_this_machine(model), hub_name(model)
    if folder is None:
        fix = f"Name its folder in RAG_EMBEDDING_MODEL, or fetch it with `{PULL} {model}`."
        raise ModelProblem(f"The embedding model {model} is not on this machine.", fix)
    opened = open_embedder(folder, model, cache_folder=sources.cache_folder, on_warning=sources.on_warning)
    return ModelChoice(opened, why, where=str(folder))


def _required_embedder(
    setting: str, model: str, required: EmbedderIdentity, sources: ModelSources
) -> ModelChoice[Embedder]:
    named = (required.model, required.model.removesuffix(":latest"))
    model = hub_name(model) if required.provider == "sentence-transformers" else model
    is_other = setting != required.provider or (setting != "embedded" and model not in named)
    if setting != "auto" and is_other:
        asked = setting if setting != required.provider else f"{setting}'s {model}"
        what = f"This library was made with {required.provider}'s {required.model}, and the settings ask for {asked}."
        raise LibraryUnavailable(what, f"Rebuild the vectors with `{REBUILD}`, or set RAG_EMBEDDER=auto.")
    choice = _named_embedder(required.provider, required.model, sources, "the library was made with it", required)
    found = choice.model.identity
    if found != required:
        raise LibraryUnavailable(
            f"{required.model} is not what this library was made with: digest {found.digest[:12]}, dimension "
            f"{found.dimension}, instead of {required.digest[:12]}, {required.dimension}.",
            f"Rebuild the vectors with `{REBUILD}`.",
        )
    return choice


def choose_reranker(
    setting: str, model: str, *, late: bool, cache_folder: Path, on_warning: Notify
) -> ModelChoice[Reranker | None]:
    """The cross-encoder: `setting` is "auto", "cross-encoder", "late-interaction" or "off"; `model` a name or a folder.

    `late`: late interaction reranks if there is no cross-encoder. Raises ModelProblem when the cross-encoder
    was requested explicitly and is missing, or its folder is unusable.
    """
    if setting in ("off", "late-interaction"):
        return ModelChoice(None, f"the setting is {setting}")
    from ragscience.models.local_models import open_cross_encoder

    folder = find_on_this_machine(model)
    if folder is not None:
        reranker = open_cross_encoder(folder, model, cache_folder=cache_folder, on_warning=on_warning)
        return ModelChoice(reranker, f"its files are in {folder}", where=str(folder))
    if setting == "cross-encoder":
        raise ModelProblem(f"The reranker {model} is not on this machine.", f"Fetch it with `{PULL}`.")
    instead = "late interaction reranks the passages" if late else "the passages are not reranked"
    warning = f"{model} is not on this machine, so {instead}. `{PULL}` fetches it."
    return ModelChoice(None, "its files are not on this machine", warning)


def choose_llm(
    setting: str, model: str, *, options: ChatOptions, sources: ModelSources
) -> ModelChoice[ServedLLM | None]:
    """The LLM, None for an answer of quotes: `setting` is "auto", "llm", "ollama" or "extractive".

    With a server in `sources` that is the model's, but for "ollama". The context window of the options is lowered to
    the model's own if that is smaller. Raises ModelProblem when a model was requested explicitly and is unavailable.
    """
    if setting == "extractive":
        return ModelChoice(None, "the setting is extractive")
    server: ModelServer = sources.ollama
    if sources.server is not None and setting != "ollama":
        server = sources.server
    elif setting == "auto" and not server.status.running:
        return ModelChoice(None, server.status.why)  # most machines have no Ollama: no warning
    try:
        return _llm_of(server, setting, model, options, sources)
    except ModelProblem as problem:
        if setting != "auto":
            raise
        why = problem.message.rstrip(".")
        why = why if why.startswith("Ollama") else why[:1].lower() + why[1:]
        return ModelChoice(None, why, f"The answer is made of quotes. {problem}")


def _llm_of(
    server: ModelServer, setting: str, model: str, options: ChatOptions, sources: ModelSources
) -> ModelChoice[ServedLLM | None]:
    if isinstance(server, OpenAIServer):
        check_installed()
    full = server.require(model, is_set=sources.model_is_set)
    details = server.show(full)
    window = min(options.num_ctx, details.context_length or options.num_ctx)
    options, digest = replace(options, num_ctx=window), server.status.models[full]
    if isinstance(server, OpenAIServer):
        others = sorted(name for name in server.status.models if name != full)
        more = f"; it also has {', '.join(others)}" if others else ""
        why = f"{server.setting} is set, and the server has it{more}"
    else:
        why = f"Ollama answers and has {full}" if setting == "auto" else "the setting is ollama"
    llm = ServedLLM(server, full, options=options, digest=digest, details=details)
    return ModelChoice(llm, why, where=server.shown)


def row(part: str, choose: Callable[[], ModelChoice[Embedder | Reranker | ServedLLM | None]]) -> ModelRow:
    """What a part would use, where that is and why; one that is unavailable says what would help."""
    from ragscience.models.minilm import find_minilm

    try:
        choice = choose()
        if choice.model is None:
            return ModelRow(part, None, "", choice.why, "", choice.warning)
        named: Any = choice.model
        where = choice.where
        if part == "embedder":
            name, digest = named.identity.model, named.identity.digest
            where = where or str(find_minilm())
        else:
            name, digest = named.name, named.digest if part == "answer" else ""
    except (ModelProblem, LibraryUnavailable) as problem:
        return ModelRow(part, None, "", problem.message, "", problem.fix)
    return ModelRow(part, name, where, choice.why, digest, choice.warning)
