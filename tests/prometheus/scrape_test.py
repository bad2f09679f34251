"""A real Prometheus server scrapes the server; promtool finds nothing to complain about; the numbers add up."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import numpy  # noqa: E402
import tritonclient.grpc as triton  # noqa: E402
from server_process import ServerProcess  # noqa: E402

TOOLS = pathlib.Path(os.environ["KERNELWIRE_PROMETHEUS"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Scrape(unittest.TestCase):
    def setUp(self):
        self.server = ServerProcess().__enter__()
        self.addCleanup(self.server.__exit__)
        with triton.InferenceServerClient(self.server.address) as client:
            x = triton.InferInput("x", [4, 8], "FP32")
            x.set_data_from_numpy(numpy.ones((4, 8), dtype=numpy.float32))
            for _ in range(10):
                client.infer("softmax", [x])

    def test_promtool_has_nothing_to_say(self):
        text = self.server.metrics()
        check = subprocess.run([TOOLS / "promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        self.assertEqual((check.returncode, check.stdout + check.stderr), (0, ""))
        self.assertLess(len(text), 100_000)

    def test_a_prometheus_server_scrapes_and_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "prometheus.yml"
            config.write_text(f"global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: kernelwire\n"
                              f"  static_configs: [{{targets: ['{self.server.metrics_address}']}}]\n")
            port = free_port()
            process = subprocess.Popen(
                [TOOLS / "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{port}", "--web.console.templates=/nonexistent",
                 "--web.console.libraries=/nonexistent"], stderr=subprocess.DEVNULL)
            try:
                count = self.await_query(port, 'sum(kernelwire_request_duration_seconds_count{operator="softmax"})', 10)
                self.assertEqual(count, 10)
                self.assertEqual(self.await_query(port, 'up{job="kernelwire"}', 1), 1)
                slowest = self.await_query(
                    port, 'histogram_quantile(0.99, sum by (le) (kernelwire_request_duration_seconds_bucket))', None)
                self.assertGreater(slowest, 0)
            finally:
                process.terminate()
                process.wait(timeout=30)

    def await_query(self, port, query, wanted, patience=60):
        """The query's value, once it is there (and is `wanted`)."""
        url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
        value = None
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(url, timeout=5) as reply:
                    result = json.load(reply)["data"]["result"]
                value = float(result[0]["value"][1]) if result else None
                if value is not None and wanted in (None, value):
                    return value
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.2)
        self.fail(f"{query}: last answer {value}, wanted {wanted}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
