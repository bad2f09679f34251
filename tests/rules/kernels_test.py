"""Every kernel waits for earlier work before anything else: the launch lets it begin while that still runs."""

import re
import unittest

from repository import ROOT


class Kernels(unittest.TestCase):
    def test_every_kernel_awaits_earlier_work_first(self):
        kernels = 0
        for path in sorted((ROOT / "kernels").rglob("*.cu*")):
            text = path.read_text(encoding="utf-8")
            for kernel in re.finditer(r"__global__ void[^{;]*\{\s*([^;]*);", text):
                kernels += 1
                with self.subTest(file=str(path.relative_to(ROOT)), line=text.count("\n", 0, kernel.start()) + 1):
                    self.assertEqual(kernel.group(1), "AwaitEarlierWork(arguments)")
        self.assertGreater(kernels, 0)


if __name__ == "__main__":
    unittest.main()
