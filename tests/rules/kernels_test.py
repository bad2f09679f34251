"""Every kernel waits for earlier work before it touches memory: the launch lets it begin while that still runs."""

import re
import unittest

from repository import ROOT

# What may come before the wait: a number from the kernel's parameters, or an object made of them.
NUMBER = re.compile(r"(?:const )?[\w:<>]+ \w+(?: = |\()[\w:{}.,*() ]+")
MEMORY = re.compile(r"inputs|outputs|table|workspace|Load|\*\w")


class Kernels(unittest.TestCase):
    def test_every_kernel_awaits_earlier_work_first(self):
        kernels = 0
        for path in sorted((ROOT / "kernels").rglob("*.cu*")):
            text = path.read_text(encoding="utf-8")
            for kernel in re.finditer(r"__global__ void[^{;]*\{(.*?)\n\}", text, re.DOTALL):
                kernels += 1
                with self.subTest(file=str(path.relative_to(ROOT)), line=text.count("\n", 0, kernel.start()) + 1):
                    body = re.sub(r"//.*", "", kernel.group(1))
                    before, wait, _ = body.partition("AwaitEarlierWork(arguments);")
                    self.assertTrue(wait, "never waits")
                    for statement in before.split(";")[:-1]:
                        self.assertRegex(statement.strip(), rf"^{NUMBER.pattern}$")
                        self.assertNotRegex(statement, MEMORY)
                    self.assertEqual(before.split(";")[-1].strip(), "", "the wait is part of a statement")
        self.assertGreater(kernels, 0)


if __name__ == "__main__":
    unittest.main()
