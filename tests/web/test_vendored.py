"""What the browser tests borrow is as it came."""

import hashlib
import re
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "vendor"


def test_every_borrowed_file_is_listed_with_its_sum_and_licence():
    listed = dict(re.findall(r"^\| `([^`]+)` \| `([0-9a-f]{64})` \|$", (VENDOR / "VENDORED.md").read_text(), re.M))
    files = [path for path in VENDOR.rglob("*") if path.is_file() and path.name != "VENDORED.md"]
    assert {str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files} == listed
    assert all((package / "LICENSE").is_file() for package in VENDOR.iterdir() if package.is_dir())
