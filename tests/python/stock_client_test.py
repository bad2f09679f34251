"""The stock Triton client, unmodified, against the server."""

import json
import queue
import threading
import unittest

import grpc
import ml_dtypes
import numpy
import tritonclient.grpc as triton
from grpc_health.v1 import health_pb2, health_pb2_grpc
from server_process import ROOT, ServerProcess
from tritonclient.utils import InferenceServerException


def tensor(name, array):
    names = {"float32": "FP32", "float16": "FP16", "float64": "FP64", "int64": "INT64", "int32": "INT32", "bfloat16": "BF16"}
    made = triton.InferInput(name, list(array.shape), names[str(array.dtype)])
    made.set_data_from_numpy(array)
    return made


def softmax(x):
    x = x.astype(numpy.float64)
    exponentials = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


class StockClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess().__enter__()
        cls.client = triton.InferenceServerClient(cls.server.address)
        cls.random = numpy.random.default_rng(7)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def rows(self, *shape):
        return self.random.standard_normal(shape).astype(numpy.float32)

    def test_live_ready_and_metadata(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("softmax"))
        self.assertFalse(self.client.is_model_ready("softmax", "7"))
        self.assertFalse(self.client.is_model_ready("nothing"))
        metadata = self.client.get_server_metadata()
        self.assertEqual(metadata.name, "kernelwire")
        self.assertIn("statistics", metadata.extensions)
        model = self.client.get_model_metadata("nms")
        self.assertEqual([i.name for i in model.inputs], ["boxes", "scores", "classes", "counts"])
        self.assertEqual([o.name for o in model.outputs], ["indices", "count", "scores"])
        self.assertEqual(list(model.versions), ["1"])
        names = {m.name for m in self.client.get_model_repository_index().models}
        self.assertLessEqual({"rms_norm", "softmax", "nms"}, names)

    def test_config_marks_optional_inputs(self):
        config = self.client.get_model_config("rms_norm").config
        optional = {i.name: i.optional for i in config.input}
        self.assertEqual(optional, {"x": False, "weight": True})
        self.assertEqual(config.max_batch_size, 0)

    def test_infer_sync(self):
        x = self.rows(5, 100)
        result = self.client.infer("softmax", [tensor("x", x)], request_id="mine")
        numpy.testing.assert_allclose(result.as_numpy("y"), softmax(x), atol=1e-6)
        self.assertEqual(result.get_response().id, "mine")
        self.assertEqual(result.get_response().model_version, "1")

    def test_infer_with_parameters_types_and_outputs(self):
        x, weight = self.rows(3, 64).astype(numpy.float16), self.rows(64)
        result = self.client.infer(
            "rms_norm", [tensor("x", x), tensor("weight", weight)], outputs=[triton.InferRequestedOutput("y")],
            parameters={"epsilon": 0.5, "output_type": "FP32", "axis": -1}, priority=1, timeout=5_000_000)
        wide = x.astype(numpy.float64)
        expected = wide / numpy.sqrt((wide ** 2).mean(-1, keepdims=True) + 0.5) * weight
        numpy.testing.assert_allclose(result.as_numpy("y"), expected, atol=1e-5)

    def test_bfloat16(self):
        x = self.rows(2, 32).astype(ml_dtypes.bfloat16)
        result = self.client.infer("softmax", [tensor("x", x)])
        numpy.testing.assert_allclose(result.as_numpy("y").astype(numpy.float64), softmax(x), atol=1e-2)

    def test_real_detections(self):
        sample = json.loads((ROOT / "tests/data/mmcv_batched_nms.json").read_text())
        boxes = numpy.array(sample["boxes"], dtype=numpy.float32)
        scores = numpy.array(sample["scores"], dtype=numpy.float32)
        classes = numpy.array(sample["idxs"], dtype=numpy.int64)
        result = self.client.infer("nms", [tensor("boxes", boxes), tensor("scores", scores), tensor("classes", classes)],
                                   parameters={"iou_threshold": 0.7})
        kept = result.as_numpy("indices")
        self.assertEqual(result.as_numpy("count").tolist(), [554])
        numpy.testing.assert_array_equal(numpy.sort(kept), numpy.sort(numpy.array(sample["keep"])))

    def test_detections_of_predictions(self):
        """Two images of YOLO's layout; the third box of the first image is below the threshold."""
        head = numpy.zeros((2, 6, 3), dtype=numpy.float16)
        head[:, :4] = [[5, 6, 45], [5, 6, 45], [10, 10, 10], [10, 10, 10]]
        head[0, 4], head[1, 5] = [0.75, 0.5, 0.25], [0.5, 0.875, 0.5]
        result = self.client.infer("detection_postprocess", [tensor("predictions", head)],
                                   parameters={"layout": "yolov8", "letterbox": "2,0,1", "max_output": 4})
        self.assertEqual(result.as_numpy("num_detections").tolist(), [[1], [2]])
        self.assertEqual(result.as_numpy("boxes")[0].tolist(), [[0, -0.5, 5, 4.5]] + 3 * [[0] * 4])
        self.assertEqual(result.as_numpy("scores").tolist(), [[0.75, 0, 0, 0], [0.875, 0.5, 0, 0]])
        self.assertEqual(result.as_numpy("classes").tolist(), [[0, -1, -1, -1], [1, 1, -1, -1]])
        self.assertEqual(result.as_numpy("indices").tolist(), [[0, -1, -1, -1], [1, 2, -1, -1]])

    def test_reductions_and_statistics(self):
        x = self.rows(3, 4, 5)
        result = self.client.infer("sum", [tensor("x", x)],
                                   parameters={"axes": "0,-1", "keepdims": True, "output_type": "FP64"})
        numpy.testing.assert_allclose(result.as_numpy("y"), x.astype(numpy.float64).sum((0, 2), keepdims=True), atol=1e-5)
        result = self.client.infer("layer_norm", [tensor("x", x)], outputs=[triton.InferRequestedOutput("mean")])
        numpy.testing.assert_allclose(result.as_numpy("mean"), x.mean(-1, keepdims=True), atol=1e-6)

    def test_infer_async(self):
        answers = queue.Queue()
        inputs = [self.rows(1, 10 + i) for i in range(20)]
        for i, x in enumerate(inputs):
            self.client.async_infer("softmax", [tensor("x", x)], lambda result, error, i=i: answers.put((i, result, error)))
        for _ in inputs:
            i, result, error = answers.get(timeout=30)
            self.assertIsNone(error)
            numpy.testing.assert_allclose(result.as_numpy("y"), softmax(inputs[i]), atol=1e-6)

    def test_stream_goes_on_after_an_error(self):
        answers = queue.Queue()
        with triton.InferenceServerClient(self.server.address) as client:
            client.start_stream(lambda result, error: answers.put((result, error)))
            x = self.rows(4, 16)
            client.async_stream_infer("softmax", [tensor("x", x)], request_id="good")
            client.async_stream_infer("nothing", [tensor("x", x)], request_id="bad")
            client.async_stream_infer("softmax", [tensor("x", x)], request_id="again")
            outcomes = [answers.get(timeout=30) for _ in range(3)]
            client.stop_stream()
        good = [result for result, error in outcomes if error is None]
        errors = [error for result, error in outcomes if error is not None]
        self.assertEqual({r.get_response().id for r in good}, {"good", "again"})
        for result in good:
            numpy.testing.assert_allclose(result.as_numpy("y"), softmax(x), atol=1e-6)
        self.assertEqual(len(errors), 1)
        self.assertIn("nothing", str(errors[0]))

    def test_error_text(self):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.infer("softmax", [tensor("x", numpy.zeros((2, 2), dtype=numpy.int64))])
        self.assertEqual(caught.exception.status(), "StatusCode.INVALID_ARGUMENT")
        self.assertIn("'x'", caught.exception.message())
        self.assertIn("INT64", caught.exception.message())
        with self.assertRaises(InferenceServerException) as caught:
            self.client.infer("softmaxx", [tensor("x", self.rows(2, 2))])
        self.assertEqual(caught.exception.status(), "StatusCode.NOT_FOUND")
        self.assertIn("softmax", caught.exception.message())

    def test_deadline(self):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.infer("softmax", [tensor("x", self.rows(256, 4096))], client_timeout=1e-6)
        self.assertEqual(caught.exception.status(), "StatusCode.DEADLINE_EXCEEDED")

    def test_statistics_count_every_request(self):
        with ServerProcess() as server, triton.InferenceServerClient(server.address) as client:
            for _ in range(5):
                client.infer("softmax", [tensor("x", self.rows(2, 8))])
            for _ in range(2):
                with self.assertRaises(InferenceServerException):
                    client.infer("softmax", [tensor("z", self.rows(2, 8))])
            model = client.get_inference_statistics("softmax").model_stats[0]
            self.assertEqual(model.inference_count, 5)
            self.assertEqual(model.inference_stats.success.count, 5)
            self.assertEqual(model.inference_stats.fail.count, 2)
            self.assertEqual(model.inference_stats.queue.count, 7)
            self.assertGreater(model.inference_stats.compute_infer.ns, 0)
            self.assertGreater(model.last_inference, 0)
            everything = client.get_inference_statistics()
            self.assertGreaterEqual(len(everything.model_stats), 3)

    def test_shared_memory_is_refused_clearly(self):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.register_system_shared_memory("region", "/region", 64)
        self.assertEqual(caught.exception.status(), "StatusCode.UNIMPLEMENTED")


class StockHealth(unittest.TestCase):
    def test_check_and_watch_until_the_drain(self):
        with ServerProcess("--drain_delay=1s") as server:
            with grpc.insecure_channel(server.address) as channel:
                stub = health_pb2_grpc.HealthStub(channel)
                serving = health_pb2.HealthCheckResponse.SERVING
                self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(), timeout=10).status, serving)
                with self.assertRaises(grpc.RpcError) as caught:
                    stub.Check(health_pb2.HealthCheckRequest(service="nothing"), timeout=10)
                self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
                unknown = next(stub.Watch(health_pb2.HealthCheckRequest(service="nothing"), timeout=10))
                self.assertEqual(unknown.status, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
                watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=30)
                self.assertEqual(next(watch).status, serving)
                exit_code = []
                stopper = threading.Thread(target=lambda: exit_code.append(server.stop()))
                stopper.start()
                self.assertEqual(next(watch).status, health_pb2.HealthCheckResponse.NOT_SERVING)
                watch.cancel()
                stopper.join(timeout=30)
                self.assertEqual(exit_code, [0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
