"""A server process of one's own for a test: ports chosen by the system, stopped at the end."""

import json
import os
import pathlib
import subprocess
import threading
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ServerProcess:
    """Runs the binary that KERNELWIRE_SERVER names. `with ServerProcess() as server: server.address`."""

    def __init__(self, *flags):
        self._command = [os.environ["KERNELWIRE_SERVER"], "--address=127.0.0.1:0", "--metrics_address=127.0.0.1:0",
                         "--device=" + os.environ.get("KERNELWIRE_TEST_DEVICE", "host"), "--drain_delay=0s",
                         "--staging_bytes=256MiB", "--log_format=json", *flags]
        self.lines = []
        self.address = None
        self.metrics_address = None

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, text=True)
        for line in self._process.stderr:
            self.lines.append(line)
            entry = json.loads(line)
            if entry["message"].startswith("ready"):
                self.address = entry["address"].split(",")[0]
                self.metrics_address = entry["metrics_address"]
                break
        else:
            raise RuntimeError("the server did not start:\n" + "".join(self.lines))
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()
        return self

    def _drain(self):
        for line in self._process.stderr:
            self.lines.append(line)

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.metrics_address}/metrics", timeout=10) as reply:
            return reply.read().decode()

    def stop(self):
        """Asks it to drain; its exit code."""
        self._process.terminate()
        return self._process.wait(timeout=30)

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.stop()
        self._reader.join(timeout=5)
        self._process.stderr.close()
