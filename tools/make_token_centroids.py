"""Makes ragscience/token_centroids.npy, the 28 x 256 centroids of 2 or 3 numbers that token vectors are coded with.

They are those of FAISS's ProductQuantizer (k-means, 25 rounds, a fixed seed) over the token vectors of the texts of
tools/make_projection.py: prose of ours, and lines of words drawn from MiniLM's vocabulary. Run it only to change the
form of token vectors; the hash and the mean cosine that it prints belong into ragscience/models/maxsim.py, and every
library's token vectors have to be made anew.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import faiss
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from config import load_settings  # noqa: E402  # after the path is set
from ragscience.models.maxsim import CENTROIDS, CODE_BYTES, parts_of, projected_tokens  # noqa: E402
from ragscience.models.minilm import MiniLM  # noqa: E402
from tools.make_projection import prose_texts, vocabulary_texts  # noqa: E402


def main() -> None:
    """Embed, cluster, write and print the hash."""
    faiss.omp_set_num_threads(1)  # sums of several threads come in any order
    model = MiniLM(cache_folder=load_settings().cache_folder, on_warning=print)
    texts = [*prose_texts(), *vocabulary_texts()]
    vectors = np.concatenate([projected_tokens(*model.embed_with_tokens([text])) for text in texts])
    parts = parts_of(vectors).transpose(1, 0, 2).reshape(len(vectors), -1)
    quantizer = faiss.ProductQuantizer(parts.shape[1], CODE_BYTES, 8)
    quantizer.train(parts)
    np.save(CENTROIDS, faiss.vector_to_array(quantizer.centroids).reshape(CODE_BYTES, 256, -1))
    print(f"{len(vectors)} token vectors, sha256 {hashlib.sha256(CENTROIDS.read_bytes()).hexdigest()}")
    decoded = quantizer.decode(quantizer.compute_codes(parts))
    lengths = np.linalg.norm(parts, axis=1) * np.linalg.norm(decoded, axis=1)
    print(f"mean cosine {((parts * decoded).sum(axis=1) / lengths).mean():.4f}")


if __name__ == "__main__":
    main()
