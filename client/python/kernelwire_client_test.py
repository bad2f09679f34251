"""What the wrapper puts on the wire and makes of replies, with tritonclient's connection replaced.

    python -m unittest kernelwire_client_test      (needs numpy and tritonclient[grpc])
"""

import unittest
from unittest import mock

import numpy
from tritonclient.grpc import service_pb2

from kernelwire_client import KernelwireClient


class FakeResult:
    def __init__(self, **arrays):
        self._arrays = arrays

    def get_response(self):
        outputs = [service_pb2.ModelInferResponse.InferOutputTensor(name=name) for name in self._arrays]
        return service_pb2.ModelInferResponse(outputs=outputs)

    def as_numpy(self, name):
        return self._arrays[name]


class KernelwireClientTest(unittest.TestCase):
    def setUp(self):
        self.client = KernelwireClient("localhost:1", timeout=2.5)
        self.client.close()
        self.client.triton = mock.Mock()
        self.infer = self.client.triton.infer
        self.x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)

    def sent(self):
        (operator, tensors), options = self.infer.call_args
        return operator, {tensor.name(): (tensor.datatype(), tensor.shape()) for tensor in tensors}, options

    def test_softmax(self):
        self.infer.return_value = FakeResult(y=self.x)
        self.assertIs(self.client.softmax(self.x, axis=0), self.x)
        operator, tensors, options = self.sent()
        self.assertEqual((operator, tensors), ("softmax", {"x": ("FP32", [2, 3])}))
        self.assertEqual(options["parameters"], {"axis": 0})
        self.assertEqual(options["client_timeout"], 2.5)
        self.assertIsNone(options["outputs"])

    def test_optional_inputs_and_attributes_are_left_out(self):
        self.infer.return_value = FakeResult(y=self.x)
        self.client.rms_norm(self.x.astype(numpy.float16), epsilon=None)
        _, tensors, options = self.sent()
        self.assertEqual(tensors, {"x": ("FP16", [2, 3])})
        self.assertIsNone(options["parameters"])

    def test_nms(self):
        keep, scores = numpy.array([1, 0]), numpy.array([0.9, 0.5])
        self.infer.return_value = FakeResult(indices=keep, count=numpy.array([2]), scores=scores)
        boxes = numpy.zeros((2, 4), numpy.float32)
        result = self.client.nms(boxes, boxes[:, 0], numpy.array([3, 3]), iou_threshold=0.7)
        self.assertIs(result[0], keep)
        self.assertIs(result[1], scores)
        operator, tensors, _ = self.sent()
        self.assertEqual(operator, "nms")
        self.assertEqual(tensors["classes"], ("INT64", [2]))

    def test_listed_outputs(self):
        self.infer.return_value = FakeResult(count=numpy.array([2]))
        result = self.client.infer("nms", {"boxes": self.x, "scores": self.x}, outputs=["count"])
        self.assertEqual(list(result), ["count"])
        self.assertEqual([output.name() for output in self.sent()[2]["outputs"]], ["count"])

    def test_an_array_without_a_type_of_the_wire(self):
        with self.assertRaisesRegex(TypeError, "input 'x': no datatype of the wire for an array of complex64"):
            self.client.softmax(self.x.astype(numpy.complex64))


if __name__ == "__main__":
    unittest.main()
