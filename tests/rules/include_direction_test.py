"""The one-way rule: which folder may include which, and where foreign headers may appear."""

import fnmatch
import unittest

from repository import includes, sources

# A folder, and the folders of ours that its files may include besides itself.
# kernels/core <- device <- primitives <- ops; observe, memory <- batch <- exec;
# catalog, batch, memory <- codec <- rpc; only server/*.cc sees them all.
KERNELS_API = ["kernels/core", "kernels/registry.h"]
ALLOWED = {
    "kernels/core": [],
    "kernels/device": ["kernels/core"],
    "kernels/primitives": ["kernels/core", "kernels/device"],
    "kernels/ops": ["kernels/core", "kernels/device", "kernels/primitives", "kernels/testing"],
    "kernels/testing": ["kernels/core", "kernels/device", "kernels/registry.h", "kernels/operators.def"],
    "kernels": ["kernels/core", "kernels/operators.def"],  # the registry
    "server/observe": [],
    "server/memory": ["kernels/core", "kernels/device"],
    "server/batch": ["kernels/core", "server/observe", "server/memory"],
    "server/exec": KERNELS_API + ["kernels/device", "server/batch", "server/memory", "server/observe"],
    "server/catalog": KERNELS_API,
    "server/codec": KERNELS_API + ["server/catalog", "server/batch", "server/memory"],
    "server/rpc": KERNELS_API + ["server/catalog", "server/batch", "server/memory", "server/codec", "server/observe"],
    "server": ["kernels", "server"],
    "client/cpp": [],
    "client/cli": ["client/cpp"],
    "client": ["client"],
    "tests": ["kernels", "server", "client", "tests"],
}
OURS = ("kernels/", "server/", "client/", "tests/", "proto/")

GRPC = ("grpc/", "grpcpp/")
CUDA = ("cuda", "cub/", "cooperative_groups", "thrust/", "device_launch_parameters")
PROTO = ("*.pb.h",)
FOREIGN = [
    (GRPC, ["server/rpc/", "server/codec/", "client/", "tests/"]),
    (CUDA, ["kernels/", "server/exec/", "server/memory/", "tests/"]),
    (("prometheus/",), ["server/observe/", "server/server.cc", "server/rpc/testing/", "tests/"]),
    (("spdlog/",), ["server/"]),
    (("hwy/",), ["kernels/ops/", "kernels/primitives/"]),
]


def folder_of(name):
    """The longest rule that `name` falls under."""
    candidates = [folder for folder in ALLOWED if name.startswith(folder + "/")]
    return max(candidates, key=len) if candidates else None


class IncludeDirection(unittest.TestCase):
    def test_our_folders(self):
        for name in sources(".h", ".cc", ".cu", ".cuh"):
            folder = folder_of(name)
            with self.subTest(file=name):
                self.assertIsNotNone(folder, "a file outside of every folder that the rule knows")
            for include in includes(name):
                if not include.startswith(OURS):
                    continue
                # Tests beside the code may also use the batteries and the harness.
                extra = ["kernels", "tests/harness", "server"] if name.endswith(("_test.cc", "_benchmark.cc")) else []
                allowed = [folder] + ALLOWED[folder] + extra
                with self.subTest(file=name, include=include):
                    self.assertTrue(any(include == a or include.startswith(a + "/") for a in allowed),
                                    f"{folder} may include {', '.join(allowed)}")

    def test_kernels_know_nothing_of_the_server(self):
        for name in sources(".h", ".cc", ".cu", ".cuh"):
            if name.startswith("kernels/"):
                for include in includes(name):
                    with self.subTest(file=name, include=include):
                        self.assertFalse(include.startswith(("server/", "client/")) or include.endswith(".pb.h"))

    def test_foreign_headers(self):
        for name in sources(".h", ".cc", ".cu", ".cuh"):
            for include in includes(name):
                for prefixes, places in FOREIGN:
                    if include.startswith(prefixes):
                        with self.subTest(file=name, include=include):
                            self.assertTrue(name.startswith(tuple(places)), f"allowed in {places} only")
                if any(fnmatch.fnmatch(include, pattern) for pattern in PROTO):
                    with self.subTest(file=name, include=include):
                        self.assertTrue(name.startswith(("server/rpc/", "server/codec/", "client/", "tests/")))

    def test_every_launch_goes_through_the_launch_helpers(self):
        from repository import ROOT
        for name in sources(".cu", ".cuh", ".cc", ".h"):
            if name in ("kernels/device/launch.cuh", "kernels/device/launch_afterwards.cuh"):
                continue
            with self.subTest(file=name):
                text = (ROOT / name).read_text(encoding="utf-8")
                self.assertNotIn("<<<", text)
                self.assertNotIn("cudaLaunchKernel", text)


if __name__ == "__main__":
    unittest.main()
