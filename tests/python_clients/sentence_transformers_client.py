"""sentence-transformers with its ONNX backend: vectors of sentences, and how alike they are."""

import onnxruntime
import transformers_models
from client import main
from sentence_transformers import SentenceTransformer

SENTENCES = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.", "no"]


def prepare(threads):
    """Mean pooling, which is the default for a model without a description of its own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    arguments = {"provider": "CPUExecutionProvider", "session_options": options}
    folder = str(transformers_models.encoder())
    model = SentenceTransformer(folder, backend="onnx", device="cpu", model_kwargs=arguments)

    def call():
        vectors = model.encode(SENTENCES * 2, batch_size=4, show_progress_bar=False)
        return vectors, model.similarity(vectors, vectors).numpy()

    return call


main(prepare)
