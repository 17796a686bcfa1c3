"""Folders of the installation. A `.env` file is read first, so that every other part finds its variables."""

from pathlib import Path

from authzsite import env

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env.read_file(BASE_DIR / ".env")
VAR_DIR = env.ensure_folder("VAR_DIR", default=BASE_DIR / "var")
