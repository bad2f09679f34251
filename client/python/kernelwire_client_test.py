"""What the wrapper puts on the wire and makes of replies, with tritonclient's connection replaced.

    python -m unittest kernelwire_client_test      (needs numpy and tritonclient[grpc])
"""

import unittest
from unittest import mock

import numpy
from tritonclient.grpc import service_pb2

from kernelwire_client import Detections, KernelwireClient


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

    def test_attributes_of_numpy_and_of_sequences(self):
        self.infer.return_value = FakeResult(y=self.x)
        attributes = {"axes": (0, numpy.int64(-1)), "clip": numpy.array([0, 0.5]), "epsilon": numpy.float32(0.25),
                      "keepdims": numpy.bool_(True), "letterbox": [1e-7, 2]}
        self.client.infer("anything", {"x": self.x}, attributes)
        parameters = self.sent()[2]["parameters"]
        self.assertEqual(parameters, {"axes": "0,-1", "clip": "0.0,0.5", "epsilon": 0.25, "keepdims": True,
                                      "letterbox": "1e-07,2"})
        self.assertEqual([type(value) for value in parameters.values()], [str, str, float, bool, str])

    def test_attributes_of_a_range_and_of_an_array_of_rank_0(self):
        self.infer.return_value = FakeResult(y=self.x)
        for axes, sent in ((range(2), "0,1"), (numpy.array(1), 1), (numpy.int32(-1), -1), ("0,2", "0,2")):
            with self.subTest(axes=axes):
                self.client.sum(self.x, axes)
                parameters = self.sent()[2]["parameters"]
                self.assertEqual(parameters, {"axes": sent})
                self.assertIs(type(parameters["axes"]), type(sent))

    def test_inputs_of_rank_0(self):
        self.infer.return_value = FakeResult(y=self.x)
        for x in (numpy.float32(3), numpy.array(3, numpy.float32), self.x.sum()):
            self.client.sum(x)
            self.assertEqual(self.sent()[1], {"x": ("FP32", [])})

    def test_layer_norm_with_and_without_statistics(self):
        mean, deviation = numpy.zeros((2, 1)), numpy.ones((2, 1))
        self.infer.return_value = FakeResult(mean=mean, y=self.x, inv_std_dev=deviation)
        self.assertIs(self.client.layer_norm(self.x, bias=self.x[0], axis=1), self.x)
        operator, tensors, options = self.sent()
        self.assertEqual(operator, "layer_norm")
        self.assertEqual(list(tensors), ["x", "bias"])
        self.assertEqual([output.name() for output in options["outputs"]], ["y"])
        y, m, d = self.client.layer_norm(self.x, self.x[0], statistics=True)
        self.assertTrue(y is self.x and m is mean and d is deviation)
        self.assertEqual([output.name() for output in self.sent()[2]["outputs"]], ["y", "mean", "inv_std_dev"])

    def test_add_rms_norm(self):
        self.infer.return_value = FakeResult(residual=-self.x, y=self.x)
        y, residual = self.client.add_rms_norm(self.x, self.x)
        self.assertIs(y, self.x)
        self.assertEqual(residual[1, 2], -5)
        self.assertEqual(list(self.sent()[1]), ["a", "b"])

    def test_reductions(self):
        self.infer.return_value = FakeResult(y=self.x)
        for name in ("sum", "prod", "mean", "max", "min", "argmax", "argmin", "logsumexp", "l2_norm"):
            for axes, parameters in ((None, {"keepdims": True}), (-1, {"axes": -1, "keepdims": True}),
                                     ([0, 1], {"axes": "0,1", "keepdims": True})):
                with self.subTest(operator=name, axes=axes):
                    self.assertIs(getattr(self.client, name)(self.x, axes, keepdims=True), self.x)
                    operator, tensors, options = self.sent()
                    self.assertEqual((operator, list(tensors)), (name, ["x"]))
                    self.assertEqual(options["parameters"], parameters)

    def test_dot_and_log_softmax(self):
        self.infer.return_value = FakeResult(y=self.x)
        self.assertIs(self.client.dot(self.x, self.x, accumulator="FP64"), self.x)
        self.assertEqual((self.sent()[0], list(self.sent()[1])), ("dot", ["a", "b"]))
        self.assertIs(self.client.log_softmax(self.x), self.x)
        self.assertEqual(self.sent()[0], "log_softmax")

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

    def test_detections_are_cut_to_their_number(self):
        reply = {"num_detections": numpy.array([[2], [1]]), "boxes": numpy.arange(16.0).reshape(2, 2, 4),
                 "scores": numpy.array([[0.9, 0.5], [0.7, 0]]), "classes": numpy.array([[3, 1], [2, -1]]),
                 "indices": numpy.array([[40, 7], [11, -1]])}
        self.infer.return_value = FakeResult(**reply)
        head = numpy.zeros((2, 84, 100), numpy.float16)
        first, second = self.client.detection_postprocess(head, layout="yolov8", classes=[0, 2], letterbox=(0.5, 0, 80))
        self.assertIsInstance(first, Detections)
        self.assertEqual(first.boxes.shape, (2, 4))
        self.assertEqual(first.indices.tolist(), [40, 7])
        self.assertEqual(second.boxes.tolist(), [[8, 9, 10, 11]])
        self.assertEqual((second.scores.tolist(), second.classes.tolist()), ([0.7], [2]))
        operator, tensors, options = self.sent()
        self.assertEqual((operator, tensors), ("detection_postprocess", {"predictions": ("FP16", [2, 84, 100])}))
        self.assertEqual(options["parameters"], {"layout": "yolov8", "classes": "0,2", "letterbox": "0.5,0,80"})

    def test_detections_without_images_are_of_one(self):
        self.infer.return_value = FakeResult(
            num_detections=numpy.array([1]), boxes=numpy.ones((2, 4)), scores=numpy.ones(2), classes=numpy.ones(2),
            indices=numpy.array([5, -1]))
        boxes = numpy.zeros((9, 4), numpy.float32)
        found = self.client.detection_postprocess(boxes=boxes, scores=boxes, anchors=boxes)
        self.assertEqual([image.indices.tolist() for image in found], [[5]])
        self.assertEqual(list(self.sent()[1]), ["boxes", "scores", "anchors"])

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
