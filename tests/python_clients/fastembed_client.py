"""fastembed: vectors of texts by a model from a local folder."""

import numpy as np
import transformers_models
from client import main
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

TEXTS = ["where does this node run?", "on the processor, because the device is down", "a cat", "two dogs; one sleeps"]


def prepare(threads):
    """Batches of texts of several lengths."""
    TextEmbedding.add_custom_model(model="local/bert", pooling=PoolingType.MEAN, normalization=True, dim=128,
                                   sources=ModelSource(hf="local/bert"), model_file="model.onnx")
    folder = str(transformers_models.encoder())
    embedding = TextEmbedding("local/bert", specific_model_path=folder, threads=threads or None)
    return lambda: np.stack(list(embedding.embed(TEXTS * 4, batch_size=3)))


main(prepare)
