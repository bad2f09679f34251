"""Typed calls for a kernelwire server, a thin layer over NVIDIA's tritonclient.

    from kernelwire_client import KernelwireClient

    with KernelwireClient("localhost:8001", timeout=0.5) as client:
        y = client.softmax(x)                      # x: numpy array of float16, float32 or float64
        for image in client.detection_postprocess(predictions, layout="yolov8", letterbox=(0.5, 0, 80)):
            print(image.boxes, image.scores, image.classes)

Attributes are passed on by name; `kernelwire describe OPERATOR` lists them. Errors of the server arrive as
tritonclient.utils.InferenceServerException with the gRPC code and the server's whole message. Every operator, also one
without a method here, can be called by `infer`, and everything else that tritonclient offers through `client.triton`.
"""

import collections.abc
import typing

import numpy
import tritonclient.grpc
from tritonclient.utils import np_to_triton_dtype

__all__ = ["Detections", "KernelwireClient"]


class Detections(typing.NamedTuple):
    """The final boxes of one image, in the order of falling scores."""

    boxes: numpy.ndarray  # [found, 4], float32: corners x1 y1 x2 y2 in the image
    scores: numpy.ndarray  # [found], float32
    classes: numpy.ndarray  # [found], int32
    indices: numpy.ndarray  # [found], int64: which of the detector's boxes each one was


class KernelwireClient:
    """Not more thread-safe than tritonclient's: share it between threads, but not across a fork."""

    def __init__(self, address="localhost:8001", *, timeout):
        """`timeout`: seconds for each call; the server drops work that cannot make it. There is no default."""
        self.triton = tritonclient.grpc.InferenceServerClient(address)
        self._timeout = timeout

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        self.triton.close()

    def infer(self, operator, inputs, attributes=None, outputs=None):
        """Runs `operator` and returns its outputs as a dict of numpy arrays.

        inputs: name to array; None as a value leaves an optional input out. BF16 is ml_dtypes.bfloat16, as recent
        versions of tritonclient have it; FP8 is uint8 with the attribute fp8="e4m3" or "e5m2".
        attributes: name to bool, int, float, str, or a sequence of numbers; None as a value leaves the attribute out.
        outputs: names of the wanted outputs; None for the usual ones.
        """
        tensors = [_encode(name, array) for name, array in inputs.items() if array is not None]
        wanted = None if outputs is None else [tritonclient.grpc.InferRequestedOutput(name) for name in outputs]
        parameters = {name: _parameter(value) for name, value in (attributes or {}).items() if value is not None}
        result = self.triton.infer(
            operator, tensors, outputs=wanted, parameters=parameters or None, client_timeout=self._timeout
        )
        return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}

    def softmax(self, x, **attributes):
        """exp(x - max) / sum(exp(x - max)) along `axis` (-1, any integer, or "all"); of x's shape and type."""
        return self.infer("softmax", {"x": x}, attributes)["y"]

    def log_softmax(self, x, **attributes):
        """x - max - log(sum(exp(x - max))): as softmax, without its underflow."""
        return self.infer("log_softmax", {"x": x}, attributes)["y"]

    def rms_norm(self, x, weight=None, **attributes):
        """x / sqrt(mean(x^2) + epsilon) * weight over the axes from `axis` (-1) on; of x's shape and type."""
        return self.infer("rms_norm", {"x": x, "weight": weight}, attributes)["y"]

    def layer_norm(self, x, weight=None, bias=None, *, statistics=False, **attributes):
        """(x - mean) / sqrt(variance + epsilon) * weight + bias over the axes from `axis` (-1) on.

        Returns y, of x's shape and type; with `statistics` y, mean and 1 / sqrt(variance + epsilon).
        """
        outputs = ["y", "mean", "inv_std_dev"] if statistics else ["y"]
        result = self.infer("layer_norm", {"x": x, "weight": weight, "bias": bias}, attributes, outputs)
        return tuple(result[name] for name in outputs) if statistics else result["y"]

    def add_rms_norm(self, a, b, weight=None, **attributes):
        """Returns rms_norm(a + b, weight) and the sum, of a's shape and type."""
        result = self.infer("add_rms_norm", {"a": a, "b": b, "weight": weight}, attributes)
        return result["y"], result["residual"]

    def sum(self, x, axes=None, **attributes):
        """Along `axes`: an integer, a sequence of them, or None for all. Integers exactly, or OUT_OF_RANGE."""
        return self._reduce("sum", x, axes, attributes)

    def prod(self, x, axes=None, **attributes):
        """The product; otherwise as sum."""
        return self._reduce("prod", x, axes, attributes)

    def mean(self, x, axes=None, **attributes):
        """Along `axes`, as for sum; float32 for integers."""
        return self._reduce("mean", x, axes, attributes)

    def max(self, x, axes=None, **attributes):
        """The largest element along `axes`, as for sum; NaN wins."""
        return self._reduce("max", x, axes, attributes)

    def min(self, x, axes=None, **attributes):
        """The smallest element along `axes`, as for sum; NaN wins."""
        return self._reduce("min", x, axes, attributes)

    def argmax(self, x, axes=None, **attributes):
        """Where the largest element is, the first of equals: along one axis, or None for the flattened tensor."""
        return self._reduce("argmax", x, axes, attributes)

    def argmin(self, x, axes=None, **attributes):
        """Where the smallest element is; otherwise as argmax."""
        return self._reduce("argmin", x, axes, attributes)

    def logsumexp(self, x, axes=None, **attributes):
        """log(sum(exp(x))) along `axes`, as for sum; float32 for integers."""
        return self._reduce("logsumexp", x, axes, attributes)

    def l2_norm(self, x, axes=None, **attributes):
        """sqrt(sum(x^2)) along `axes`, as for sum; float32 for integers."""
        return self._reduce("l2_norm", x, axes, attributes)

    def _reduce(self, operator, x, axes, attributes):
        return self.infer(operator, {"x": x}, {"axes": axes, **attributes})["y"]

    def dot(self, a, b, **attributes):
        """sum(a * b) along the last axis; a and b of one shape and type."""
        return self.infer("dot", {"a": a, "b": b}, attributes)["y"]

    def nms(self, boxes, scores, classes=None, **attributes):
        """Greedy non-maximum suppression of one image: boxes [n, 4], scores [n], classes [n] of int32 or int64.

        Returns the kept boxes' indices (int64) and scores (float32), in the order of falling scores.
        """
        result = self.infer("nms", {"boxes": boxes, "scores": scores, "classes": classes}, attributes)
        return result["indices"], result["scores"]

    def detection_postprocess(
        self, predictions=None, *, boxes=None, scores=None, anchors=None, counts=None, **attributes
    ):
        """From what a detector puts out to final boxes: a list of Detections, one an image.

        predictions: [4 + classes, n] (layout="yolov8") or [n, 5 + classes] (layout="yolov5"); or instead of them
        boxes: [n, 4] or [n, classes, 4], and scores: [n, classes]. All of them may have the images' dimension in
        front; without it the list has one entry. anchors: [n, 4], the boxes are deltas to them. counts: [images] of
        int32, how many boxes of each image are real.
        """
        inputs = {"predictions": predictions, "boxes": boxes, "scores": scores, "anchors": anchors, "counts": counts}
        result = self.infer("detection_postprocess", inputs, attributes)
        found = result["num_detections"].reshape(-1)
        padded = [result[name] for name in Detections._fields]
        if result["num_detections"].ndim == 1:
            padded = [array[numpy.newaxis] for array in padded]
        return [Detections(*(array[image, :count] for array in padded)) for image, count in enumerate(found)]


def _parameter(value):
    """As the wire has it: numbers of numpy as Python's, sequences as text."""
    if isinstance(value, (numpy.generic, numpy.ndarray)) and value.ndim == 0:
        return value.item()
    if isinstance(value, (collections.abc.Sequence, numpy.ndarray)) and not isinstance(value, str):
        return ",".join(str(_parameter(one)) for one in value)
    return value


def _encode(name, array):
    array = numpy.asarray(array)  # what numpy computes of rank 0 is no array
    datatype = np_to_triton_dtype(array.dtype)
    if datatype is None:
        raise TypeError(f"input '{name}': no datatype of the wire for an array of {array.dtype}")
    tensor = tritonclient.grpc.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array)
    return tensor
