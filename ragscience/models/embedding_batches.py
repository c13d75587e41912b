"""Texts become vectors and token vectors, in one pass of the model where it gives both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.models.model_protocols import Embedder, TokenEmbedder

__all__ = ["embed_batch"]


def embed_batch(
    embedder: Embedder, source: TokenEmbedder | None, texts: Sequence[str]
) -> tuple[NDArray[np.float32], list[NDArray[np.uint8]]]:
    """Unit rows, shape (len(texts), dimension), float32, and the token vectors of each text.

    No token vectors without a `source`; where that is the embedder itself, one model pass gives both.
    """
    import numpy as np

    if source is None:
        return embedder.embed_documents(texts), []
    from ragscience.models.maxsim import compress

    passes = source.embed_with_tokens(texts)
    compressed = [compress(each) for each in passes]
    if source is embedder:
        return np.stack([each.vector for each in passes]), compressed
    return embedder.embed_documents(texts), compressed
