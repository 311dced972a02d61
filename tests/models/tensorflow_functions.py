"""Functions of TensorFlow without loops: what comes before and after networks. Each is (function, signature, runs) by name."""

import numpy
import tensorflow as tf

SEED = 5


def values(*shape, seed=SEED):
    return numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32)


def floats(*shape):
    return ("float32", shape)


def boxes_of(count, seed=SEED):
    low = numpy.random.default_rng(seed).uniform(0, 0.6, size=(count, 2))
    return numpy.concatenate([low, low + numpy.random.default_rng(seed + 1).uniform(0.1, 0.4, size=(count, 2))], 1).astype(numpy.float32)


def detections(boxes, scores):
    """The best of each class that do not overlap."""
    best = tf.reduce_max(scores, axis=1)
    kept = tf.image.non_max_suppression(boxes, best, 4, iou_threshold=0.4, score_threshold=0.2)
    return tf.gather(boxes, kept), tf.gather(best, kept), tf.argmax(tf.gather(scores, kept), axis=1)


def crops(image, boxes):
    parts = tf.image.crop_and_resize(image, boxes, tf.zeros([tf.shape(boxes)[0]], tf.int32), [6, 5])
    return parts, tf.reduce_max(parts, axis=[1, 2])


def resizes(image):
    size = tf.shape(image)[1:3] * 2
    return tf.image.resize(image, size), tf.image.resize(image, size, method="nearest"), tf.compat.v1.image.resize_bilinear(image, size, align_corners=True)


def picture(bytes_of):
    """Bytes to a normalized picture."""
    image = tf.cast(bytes_of, tf.float32) / 255
    image = tf.image.central_crop(image, 0.5) if image.shape[0] is not None else image
    image = tf.reverse(image, axis=[1])
    return tf.transpose((image - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225], [2, 0, 1])


def spectrum(sound):
    """The logarithm of a spectrogram by mel bands."""
    frames = tf.signal.frame(sound, 64, 32)
    window = tf.constant(numpy.hanning(64).astype(numpy.float32))
    power = tf.abs(tf.signal.rfft(frames * window)) ** 2
    bands = tf.constant(numpy.abs(values(33, 10)))
    return tf.math.log(power @ bands + 1e-3)


def indexing(x, index):
    picked = tf.gather_nd(x, index)
    placed = tf.tensor_scatter_nd_update(x, index, picked * 2)
    return picked, placed, tf.roll(x, 2, axis=1), x[::2, ..., ::-1], tf.where(x > 0)


def segments(x, of):
    return tf.math.segment_sum(x, of), tf.math.segment_max(x, of), tf.math.unsorted_segment_sum(x, of, 4)


def einsums(x, y):
    scores = tf.einsum("bqhd,bkhd->bhqk", x, y)
    return tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), y), tf.einsum("bqhd->bd", x), tf.linalg.band_part(scores, 0, -1)


def embeds_words():
    """Strings to rows of a table, those that are unknown to the last. The function holds the table."""
    keys = tf.constant(["to", "be", "or", "not"])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.range(4, dtype=tf.int64)), 4)

    class Embeds(tf.Module):
        def __init__(self):
            super().__init__()
            self.table = table

        def __call__(self, words):
            return {"rows": tf.gather(tf.constant(values(5, 3)), self.table.lookup(words))}

    return Embeds()


def lowers(words):
    return tf.strings.upper(words), tf.strings.lower(words)


def volumes(x):
    x = tf.nn.conv3d(x, tf.constant(values(2, 3, 3, 2, 4)), [1, 1, 2, 1, 1], "SAME")
    return tf.nn.max_pool3d(tf.nn.leaky_relu(x), 2, 2, "VALID"), tf.nn.depth_to_space(x[:, 0], 2), tf.nn.space_to_batch(x[:, 0], [2, 1], [[0, 0], [0, 0]])


def counts(x):
    order = tf.argsort(x, direction="DESCENDING")
    unique, places = tf.unique(tf.cast(tf.round(x), tf.int32))
    return order, unique, places, tf.cumsum(x, exclusive=True, reverse=True), tf.one_hot(places, 3, on_value=2.0), tf.math.floormod(tf.cast(x * 7, tf.int32), 3)


def words(*text):
    return numpy.array(text, object)


BYTES = numpy.random.default_rng(SEED).integers(0, 256, size=(12, 10, 3)).astype(numpy.uint8)

FUNCTIONS = {
    "detections": (detections, {"boxes": floats(None, 4), "scores": floats(None, 3)},
                   [{"boxes": boxes_of(n), "scores": numpy.abs(values(n, 3))} for n in (12, 5)]),
    "crops": (crops, {"image": floats(1, None, None, 2), "boxes": floats(None, 4)}, [{"image": values(1, 9, 8, 2), "boxes": boxes_of(3)}, {"image": values(1, 16, 12, 2), "boxes": boxes_of(1)}]),
    "resizes": (resizes, {"image": floats(None, None, None, 2)}, [{"image": values(1, 5, 4, 2)}, {"image": values(2, 3, 6, 2)}]),
    "picture": (picture, {"bytes_of": ("uint8", (12, 10, 3))}, [{"bytes_of": BYTES}]),
    "spectrum": (spectrum, {"sound": floats(1, 320)}, [{"sound": values(1, 320)}]),
    "indexing": (indexing, {"x": floats(None, 5, 3), "index": ("int32", (None, 2))}, [{"x": values(4, 5, 3), "index": numpy.array([[0, 1], [3, 4]], numpy.int32)}]),
    "segments": (segments, {"x": floats(None, 3), "of": ("int32", (None,))}, [{"x": values(5, 3), "of": numpy.array([0, 0, 1, 3, 3], numpy.int32)}]),
    "einsums": (einsums, {"x": floats(None, 4, 2, 3), "y": floats(None, 4, 2, 3)}, [{"x": values(2, 4, 2, 3), "y": values(2, 4, 2, 3, seed=1)}]),
    "embeds_words": (embeds_words, {"words": ("string", (None,))}, [{"words": words("be", "that", "or")}, {"words": words("not")}]),
    "lowers": (lowers, {"words": ("string", (None,))}, [{"words": words("To", "BE")}]),
    "volumes": (volumes, {"x": floats(None, 3, 8, 6, 2)}, [{"x": values(1, 3, 8, 6, 2)}, {"x": values(2, 3, 8, 6, 2)}]),
    "counts": (counts, {"x": floats(None)}, [{"x": values(9)}, {"x": values(2)}]),
}
