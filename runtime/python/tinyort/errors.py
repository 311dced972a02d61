"""Exceptions, with the names that onnxruntime gives them; all of them are tinyort.Error."""


class Error(Exception):
    """A failure of tinyort.

    code      the status, such as "TORT_E_MODEL"
    node      index of the node at fault, as session.placement() numbers them; None: none is
    provider  the provider at fault; None: none is
    """

    def __init__(self, message="", code="TORT_E_USAGE", node=None, provider=None):
        super().__init__(message)
        self.code, self.node, self.provider = code, node, provider


class Fail(Error):
    """A run failed, or a bug of tinyort."""


class InvalidArgument(Error):
    """An input that does not fit the model, an unknown name or option."""


class NoSuchFile(Error):
    """A file that cannot be opened or read."""


class NoModel(Error):
    """For programs that catch it; tinyort never raises it."""


class EngineError(NoModel):
    """For programs that catch it; tinyort never raises it."""


class RuntimeException(Error):
    """Memory ran out, or a stated limit is too small."""


class InvalidProtobuf(Error):
    """The bytes are no model at all."""


class ModelLoaded(Error):
    """For programs that catch it; tinyort never raises it."""


class NotImplemented(Error):  # noqa: A001 - the name that onnxruntime has
    """Valid ONNX that this build does not have, or a node that no provider of the chain takes."""


class InvalidGraph(Error):
    """The model is wrong."""


class EPFail(Error):
    """A provider did not open, or its device was lost."""


class ModelLoadCanceled(Error):
    """For programs that catch it; tinyort never raises it."""


class ModelRequiresCompilation(Error):
    """For programs that catch it; tinyort never raises it."""


class NotFound(Error):
    """For programs that catch it; tinyort never raises it."""


CLASSES = {
    "TORT_E_INTERNAL": Fail,
    "TORT_E_USAGE": InvalidArgument,
    "TORT_E_MODEL": InvalidGraph,
    "TORT_E_INPUT": InvalidArgument,
    "TORT_E_PLACEMENT": NotImplemented,
    "TORT_E_RUN": Fail,
    "TORT_E_MEMORY": RuntimeException,
    "TORT_E_IO": NoSuchFile,
    "TORT_E_DEVICE_LOST": EPFail,
    "TORT_E_UNSUPPORTED": NotImplemented,
    "TORT_E_CANCELLED": Fail,
}


class UnknownOperator(InvalidGraph, NotImplemented):
    """An operator that this build does not know: onnxruntime takes the model for invalid then."""


def _is_no_model(message):
    return "this is a text" in message or "file is empty" in message or "is this an ONNX file?" in message


def _shown(message):
    """Names come from files: what would steer a terminal is shown as Python writes it, "\\x1b"."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)


def make(code, message, node, provider):
    """The exception for an error of the library; what tinyort._core raises."""
    kind = CLASSES.get(code, Fail)
    if code == "TORT_E_MODEL" and _is_no_model(message):
        kind = InvalidProtobuf
    elif code == "TORT_E_PLACEMENT" and " did not open: " in message:
        kind = EPFail
    elif code == "TORT_E_PLACEMENT" and " NO_OP " in message:
        kind = UnknownOperator
    return kind(_shown(message), code, None if node < 0 else node, provider)
