"""Networks of Keras with seeded random weights: those of keras.applications at small widths, and layers of other kinds.

Each entry makes a model, inputs of two runs, and says which exporters it is for, where it is not for all of them.
"""

import keras
import numpy
from keras import layers, ops

SEED = 7


def pictures(batch, *shape):
    return {"image": numpy.random.default_rng(SEED + batch).normal(size=(batch, *shape)).astype(numpy.float32)}


def settle(model):
    """Weights that differ from each other in every layer; running statistics and scales that are not those of the start."""
    random = numpy.random.default_rng(SEED)
    for weight in model.weights:
        if "variance" in weight.path or "gamma" in weight.path:
            weight.assign(random.uniform(0.7, 1.3, weight.shape))
        elif "mean" in weight.path or "bias" in weight.path or "beta" in weight.path:
            weight.assign(0.1 * random.normal(size=weight.shape))
        elif weight.dtype.startswith("float"):
            weight.assign(random.normal(size=weight.shape) / max(1, numpy.prod(weight.shape[:-1])) ** 0.5)
    return model


def entry(make, runs, **options):
    def settled():
        keras.utils.set_random_seed(SEED)
        return settle(make())

    return {"make": settled, "runs": runs} | options


def application(name, size=64, **options):
    def make():
        image = keras.Input((size, size, 3), name="image")
        model = getattr(keras.applications, name)(weights=None, input_tensor=image, classes=11, **options)
        return model

    return entry(make, [pictures(1, size, size, 3), pictures(3, size, size, 3)])


def network(shape, build, *, name="image", dtype="float32", sizes=None, **options):
    """A functional model of one input; `sizes` are the shapes of the two runs."""

    def make():
        start = keras.Input(shape, name=name, dtype=dtype)
        return keras.Model(start, build(start))

    def values(size, batch):
        random = numpy.random.default_rng(SEED + batch)
        if dtype == "int32":
            return random.integers(0, 20, size=(batch, *size)).astype(numpy.int32)
        return random.normal(size=(batch, *size)).astype(numpy.float32)

    first, second = sizes or (shape, shape)
    return entry(make, [{name: values(first, 2)}, {name: values(second, 3)}], **options)


def conv3d(x):
    x = layers.Conv3D(6, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling3D(2)(x)
    x = layers.BatchNormalization()(layers.Conv3D(8, 3, strides=2, padding="same")(x))
    return layers.Dense(4)(layers.GlobalAveragePooling3D()(layers.ELU()(x)))


def masked_gru(x):
    """Padding is 0: the mask goes through both directions of two recurrent layers."""
    x = layers.Embedding(20, 8, mask_zero=True)(x)
    x = layers.Bidirectional(layers.GRU(6, return_sequences=True))(x)
    return layers.Dense(3, activation="softmax")(layers.LSTM(5)(x))


def conv_lstm(x):
    return layers.Conv2D(2, 1)(layers.ConvLSTM2D(4, 3, padding="same", return_sequences=False)(x))


def transformer(x):
    x = layers.Embedding(20, 16)(x)
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 4)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(16)(keras.activations.gelu(layers.Dense(32)(x), approximate=True)))
    return layers.Dense(5)(x)


def causal_transformer(x):
    x = layers.Embedding(20, 16)(x)
    x = x + layers.GroupQueryAttention(4, 4, 2)(x, x, use_causal_mask=True)
    return layers.Dense(20)(layers.RMSNormalization()(x))


def einsum_mixer(x):
    x = layers.EinsumDense("abc,cde->abde", output_shape=(None, 4, 6), bias_axes="de", activation="swish")(x)
    return layers.EinsumDense("abde,def->abf", output_shape=(None, 5))(x)


def temporal_convolutions(x):
    for dilation in (1, 2, 4):
        x = x + layers.Conv1D(6, 3, dilation_rate=dilation, padding="causal", activation="relu")(x)
    return layers.Dense(3)(layers.GlobalMaxPooling1D()(x))


def unet(x):
    down = layers.Conv2D(6, 3, padding="same", activation="leaky_relu")(x)
    low = layers.SeparableConv2D(12, 3, padding="same", activation="relu")(layers.AveragePooling2D(2)(down))
    up = layers.Conv2DTranspose(6, 3, strides=2, padding="same")(low)
    x = layers.Concatenate()([up, down, layers.UpSampling2D(2, interpolation="bilinear")(low)])
    return layers.Conv2D(2, 1, activation="sigmoid")(x)


def squeeze_excite(x):
    x = layers.ZeroPadding2D(((0, 1), (1, 0)))(x)
    x = layers.DepthwiseConv2D(3, strides=2, depth_multiplier=2)(x)
    scale = layers.Dense(6, activation="hard_sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    return layers.Flatten()(layers.PReLU(shared_axes=(1, 2))(layers.GroupNormalization(3)(x * scale)))


def seq2seq():
    question, answer = keras.Input((None,), name="question", dtype="int32"), keras.Input((None,), name="answer", dtype="int32")
    words = layers.Embedding(20, 8)
    memory, *state = layers.LSTM(8, return_sequences=True, return_state=True)(words(question))
    said = layers.LSTM(8, return_sequences=True)(words(answer), initial_state=state)
    seen = layers.AdditiveAttention()([said, memory])
    return keras.Model([question, answer], layers.Dense(20, activation="softmax")(layers.Concatenate()([said, seen])))


def wide_and_deep():
    numbers, kind = keras.Input((5,), name="numbers"), keras.Input((1,), name="kind", dtype="int32")
    deep = layers.Dense(8, activation="selu")(layers.Rescaling(0.5, offset=-0.1)(numbers))
    wide = layers.CategoryEncoding(6, output_mode="one_hot")(kind)
    return keras.Model([numbers, kind], layers.Dense(1, activation="sigmoid")(layers.Concatenate()([deep, wide])))


def attention_pool(x):
    scores = ops.softmax(ops.einsum("btc,c->bt", x, numpy.arange(6, dtype=numpy.float32) / 6), axis=-1)
    best, _ = ops.top_k(scores, 2)
    return ops.concatenate([ops.einsum("bt,btc->bc", scores, x), best, ops.cumsum(scores, axis=1)[:, :1]], axis=1)


def integers(high, *shape, seed=SEED):
    return numpy.random.default_rng(seed).integers(0, high, size=shape).astype(numpy.int32)


def numbers(*shape, seed=SEED):
    return numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32)


KERAS = {
    "keras_mobilenet": application("MobileNet", alpha=0.25),
    "keras_mobilenet_v2": application("MobileNetV2", alpha=0.35),
    "keras_mobilenet_v3": application("MobileNetV3Small", alpha=0.75),
    "keras_efficientnet_v2": application("EfficientNetV2B0", include_preprocessing=False),
    "keras_conv3d": network((8, 12, 12, 2), conv3d),
    "keras_masked_gru": network((None,), masked_gru, name="tokens", dtype="int32", sizes=((7,), (4,))),
    "keras_conv_lstm": network((5, 10, 8, 2), conv_lstm),
    "keras_transformer": network((None,), transformer, name="tokens", dtype="int32", sizes=((7,), (12,))),
    "keras_causal_transformer": network((None,), causal_transformer, name="tokens", dtype="int32", sizes=((7,), (12,))),
    "keras_einsum_mixer": network((None, 8), einsum_mixer, sizes=((5, 8), (9, 8))),
    "keras_temporal_convolutions": network((None, 6), temporal_convolutions, sizes=((9, 6), (20, 6))),
    "keras_unet": network((16, 16, 3), unet),
    "keras_squeeze_excite": network((9, 9, 3), squeeze_excite),
    "keras_attention_pool": network((8, 6), attention_pool),
    "keras_seq2seq": entry(seq2seq, [{"question": integers(20, 2, 6), "answer": integers(20, 2, 4)},
                                     {"question": integers(20, 1, 3, seed=1), "answer": integers(20, 1, 8, seed=2)}]),
    "keras_wide_and_deep": entry(wide_and_deep, [{"numbers": numbers(4, 5), "kind": integers(6, 4, 1)}, {"numbers": numbers(1, 5), "kind": integers(6, 1, 1)}]),
}
