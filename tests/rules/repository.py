"""The repository as the rules see it: its tracked files and their include lines."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked_files():
    """Paths relative to the root: tracked, or new and not ignored. Without git (an unpacked archive): all but build output."""
    try:
        listing = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listing = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")
                   if p.is_file() and p.relative_to(ROOT).parts[0] not in ("build", "install", ".git")]
    return sorted(name for name in listing if (ROOT / name).is_file())


def sources(*suffixes):
    return [name for name in tracked_files() if name.endswith(suffixes)]


INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def includes(name):
    return INCLUDE.findall((ROOT / name).read_text(encoding="utf-8"))


def operator_names():
    text = (ROOT / "kernels/operators.def").read_text(encoding="utf-8")
    return re.findall(r"^KERNELWIRE_OPERATOR\((\w+),", text, re.MULTILINE)
