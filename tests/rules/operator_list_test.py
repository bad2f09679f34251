"""Every folder of kernels/ops stands in operators.def and has its files, and the other way round."""

import unittest

from repository import ROOT, operator_names

# {op}.h and {op}_kernel.cuh besides, but for operators that take another's.
FILES = ["README.md", "{op}_spec.cc", "{op}_host.cc", "{op}_cuda.cu", "{op}_cases.cc", "{op}_test.cc"]


class OperatorList(unittest.TestCase):
    def test_folders_and_lines_agree(self):
        folders = sorted(p.name for p in (ROOT / "kernels/ops").iterdir() if p.is_dir())
        self.assertEqual(folders, sorted(operator_names()))

    def test_every_folder_has_its_files(self):
        for op in operator_names():
            for pattern in FILES:
                path = ROOT / "kernels/ops" / op / pattern.format(op=op)
                with self.subTest(file=str(path.relative_to(ROOT))):
                    self.assertTrue(path.is_file())

    def test_the_catalogue_in_the_readme_is_complete(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for op in operator_names():
            with self.subTest(operator=op):
                self.assertIn(f"kernels/ops/{op}/README.md", readme)


if __name__ == "__main__":
    unittest.main()
