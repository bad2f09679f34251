"""Every method of the wrapper against a server process: KERNELWIRE_SERVER names the binary."""

import pathlib
import sys
import unittest

import numpy
from tritonclient.utils import InferenceServerException

from kernelwire_client import KernelwireClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/python"))
from server_process import ServerProcess  # noqa: E402


class KernelwireClientServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess().__enter__()
        cls.client = KernelwireClient(cls.server.address, timeout=60)
        cls.x = numpy.random.default_rng(11).standard_normal((3, 4, 5)).astype(numpy.float32)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def assert_close(self, got, expected):
        numpy.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6)
        self.assertEqual(got.shape, numpy.shape(expected))

    def test_norms(self):
        x, weight, bias = self.x.astype(numpy.float64), self.x[0, 0], self.x[1, 0]
        centred = x - x.mean(-1, keepdims=True)
        deviation = 1 / numpy.sqrt((centred**2).mean(-1, keepdims=True) + 0.5)
        y, mean, inv_std_dev = self.client.layer_norm(self.x, weight, bias, statistics=True, epsilon=0.5)
        self.assert_close(y, centred * deviation * weight + bias)
        self.assert_close(mean, x.mean(-1, keepdims=True))
        self.assert_close(inv_std_dev, deviation)
        self.assert_close(self.client.layer_norm(self.x, epsilon=0.5), centred * deviation)
        flat = x.reshape(3, 20)
        rms = (flat / numpy.sqrt((flat**2).mean(-1, keepdims=True))).reshape(x.shape)
        self.assert_close(self.client.rms_norm(self.x, axis=1, epsilon=0), rms)
        y, residual = self.client.add_rms_norm(self.x, self.x, axis=-2, epsilon=0)
        self.assert_close(y, rms)
        numpy.testing.assert_array_equal(residual, 2 * self.x)

    def test_softmax(self):
        exponentials = numpy.exp(self.x.astype(numpy.float64))
        expected = exponentials / exponentials.sum(1, keepdims=True)
        self.assert_close(self.client.softmax(self.x, axis=1, algorithm="online"), expected)
        self.assert_close(self.client.log_softmax(self.x, axis=1), numpy.log(expected))

    def test_reductions(self):
        x = self.x.astype(numpy.float64)
        expected = {"sum": numpy.sum, "prod": numpy.prod, "mean": numpy.mean, "max": numpy.max, "min": numpy.min,
                    "logsumexp": lambda a, axis: numpy.log(numpy.exp(a).sum(axis)),
                    "l2_norm": lambda a, axis: numpy.sqrt((a**2).sum(axis))}
        for name, function in expected.items():
            with self.subTest(operator=name):
                reduce = getattr(self.client, name)
                self.assert_close(reduce(self.x), function(x, None))
                self.assert_close(reduce(self.x, 1), function(x, 1))
                self.assert_close(reduce(self.x, (0, -1), keepdims=True), function(x, (0, 2)).reshape(1, 4, 1))
                self.assertEqual(reduce(self.x, accumulator="FP64", output_type="FP64").dtype, numpy.float64)
        for name, function in (("argmax", numpy.argmax), ("argmin", numpy.argmin)):
            numpy.testing.assert_array_equal(getattr(self.client, name)(self.x, axes=1), function(x, 1))
            numpy.testing.assert_array_equal(getattr(self.client, name)(self.x), function(x))

    def test_dot(self):
        self.assert_close(self.client.dot(self.x, self.x[::-1].copy()), (self.x * self.x[::-1]).sum(-1))
        self.assertEqual(self.client.dot(numpy.full(9, 100, numpy.int8), numpy.full(9, 100, numpy.int8)), 90000)

    def test_nms(self):
        boxes = numpy.array([[0, 0, 10, 10], [1, 1, 11, 11], [50, 50, 60, 60]], numpy.float32)
        keep, scores = self.client.nms(boxes, numpy.array([0.5, 0.75, 0.25], numpy.float32))
        self.assertEqual((keep.tolist(), scores.tolist()), ([1, 2], [0.75, 0.25]))

    def test_detections(self):
        head = numpy.zeros((2, 6, 3), numpy.float16)
        head[:, :4] = [[5, 6, 45], [5, 6, 45], [10, 10, 10], [10, 10, 10]]
        head[0, 4], head[1, 5] = [0.75, 0.5, 0.25], [0.5, 0.875, 0.5]
        first, second = self.client.detection_postprocess(
            head, layout="yolov8", letterbox=(2, 0, 1), clip=(0, 0, 20, 4.5), classes=[0, 1], score_threshold=0.25)
        self.assertEqual(first.boxes.tolist(), [[0, 0, 5, 4.5]])
        self.assertEqual((first.scores.tolist(), first.classes.tolist(), first.indices.tolist()), ([0.75], [0], [0]))
        self.assertEqual(second.indices.tolist(), [1, 2])
        (alone,) = self.client.detection_postprocess(head[1], layout="yolov8", max_output=1)
        self.assertEqual((alone.indices.tolist(), alone.boxes.tolist()), ([1], [[1, 1, 11, 11]]))

    def test_detections_of_boxes_scores_anchors_and_counts(self):
        anchors = numpy.array([[10, 10, 4, 8], [50, 50, 10, 10]], numpy.float32)
        deltas = numpy.zeros((2, 2, 4), numpy.float32)
        scores = numpy.array([[[0.5], [0.75]], [[0.5], [0.75]]], numpy.float32)
        first, second = self.client.detection_postprocess(
            boxes=deltas, scores=scores, anchors=anchors, counts=numpy.array([2, 1], numpy.int32),
            anchor_scales=(10, 10, 5, 5))
        self.assertEqual(first.boxes.tolist(), [[45, 45, 55, 55], [8, 6, 12, 14]])
        self.assertEqual(second.indices.tolist(), [0])

    def test_an_attribute_that_does_not_exist(self):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.sum(self.x, keep_dims=True)
        self.assertEqual(caught.exception.status(), "StatusCode.INVALID_ARGUMENT")
        self.assertIn("keepdims", caught.exception.message())


if __name__ == "__main__":
    unittest.main(verbosity=2)
