"""Typed calls for a kernelwire server, a thin layer over NVIDIA's tritonclient.

    from kernelwire_client import KernelwireClient

    with KernelwireClient("localhost:8001", timeout=0.5) as client:
        y = client.softmax(x)                      # x: numpy array of float16, float32 or float64
        keep, scores = client.nms(boxes, scores, classes, iou_threshold=0.7)

Attributes are passed on by name; `kernelwire describe OPERATOR` lists them. Errors of the server arrive as
tritonclient.utils.InferenceServerException with the gRPC code and the server's whole message. Every operator, also one
without a method here, can be called by `infer`, and everything else that tritonclient offers through `client.triton`.
"""

import tritonclient.grpc
from tritonclient.utils import np_to_triton_dtype

__all__ = ["KernelwireClient"]


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
        attributes: name to bool, int, float or str; None as a value leaves the attribute out.
        outputs: names of the wanted outputs; None for the usual ones.
        """
        tensors = [_encode(name, array) for name, array in inputs.items() if array is not None]
        wanted = None if outputs is None else [tritonclient.grpc.InferRequestedOutput(name) for name in outputs]
        parameters = {name: value for name, value in (attributes or {}).items() if value is not None}
        result = self.triton.infer(
            operator, tensors, outputs=wanted, parameters=parameters or None, client_timeout=self._timeout
        )
        return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}

    def softmax(self, x, **attributes):
        """exp(x - max) / sum(exp(x - max)) along `axis` (-1, any integer, or "all"); of x's shape and type."""
        return self.infer("softmax", {"x": x}, attributes)["y"]

    def rms_norm(self, x, weight=None, **attributes):
        """x / sqrt(mean(x^2) + epsilon) * weight over the axes from `axis` (-1) on; of x's shape and type."""
        return self.infer("rms_norm", {"x": x, "weight": weight}, attributes)["y"]

    def nms(self, boxes, scores, classes=None, **attributes):
        """Greedy non-maximum suppression of one image: boxes [n, 4], scores [n], classes [n] of int32 or int64.

        Returns the kept boxes' indices (int64) and scores (float32), in the order of falling scores.
        """
        result = self.infer("nms", {"boxes": boxes, "scores": scores, "classes": classes}, attributes)
        return result["indices"], result["scores"]


def _encode(name, array):
    datatype = np_to_triton_dtype(array.dtype)
    if datatype is None:
        raise TypeError(f"input '{name}': no datatype of the wire for an array of {array.dtype}")
    tensor = tritonclient.grpc.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array)
    return tensor
