"""Every test is built: a file that no CMakeLists.txt names passes by never running."""

import pathlib
import re
import unittest

from repository import ROOT, sources


class TestsAreBuilt(unittest.TestCase):
    def test_every_test_file_is_named_where_it_is_built(self):
        files = [pathlib.Path(name) for name in sources("_test.cc", "_test.cu")]
        self.assertGreater(len(files), 0)
        for file in files:
            operator = file.parent.name
            if file.parent.parent == pathlib.Path("kernels/ops") and file.name.startswith(operator):
                continue  # found by its name (kernels/CMakeLists.txt)
            with self.subTest(file=str(file)):
                lists = [ROOT / folder / "CMakeLists.txt" for folder in file.parents]
                # The whole name: row_order_test.cc is not named by short_row_order_test.cc.
                name = re.compile(rf"(?<![\w.-]){re.escape(file.name)}(?![\w.-])")
                named = any(name.search(path.read_text(encoding="utf-8")) for path in lists if path.exists())
                self.assertTrue(named, "no CMakeLists.txt names it")


if __name__ == "__main__":
    unittest.main()
