"""Virtual environments for other people's packages, made once and kept under var/clients."""

import fcntl
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.installations import PROJECT, Installation

KEPT = PROJECT / "var" / "clients"


@dataclass(frozen=True)
class Package:
    """A package of one version, installed by itself."""

    name: str
    version: str
    extra: str = ""

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return KEPT / str(self)

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def provide(self) -> None:
        """Make the environment unless it is there; several test processes make it once."""
        KEPT.mkdir(parents=True, exist_ok=True)
        with (KEPT / f"{self}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp = self.folder / "complete"
            if stamp.exists():
                return
            wanted = f"{self.name}{self.extra}=={self.version}"
            _run_uv("venv", "--quiet", "--clear", "--python", sys.executable, str(self.folder))
            _run_uv("pip", "install", "--quiet", "--python", str(self.python), wanted)
            stamp.touch()

    def run(
        self, *arguments: str, site: Installation | None, home: Path, typed: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run its Python with these arguments; with a site, address and token are in the environment.

        What it asks for is answered by the lines that are typed, passwords included: it has no terminal to ask at.
        """
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "DATAHUB_TELEMETRY_ENABLED": "false",
        }
        if site is not None:
            environment |= {"DATAHUB_GMS_URL": site.address, "DATAHUB_GMS_TOKEN": site.token}
        return subprocess.run(
            [str(self.python), *arguments],
            env=environment,
            cwd=home,
            input=typed,
            start_new_session=True,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def program(self, text: str, *, site: Installation, home: Path) -> Any:
        """Run a program that prints JSON in its last line; that."""
        done = self.run("-c", text, site=site, home=home)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


def _run_uv(*arguments: str) -> None:
    """Run the uv that made the environment of this project: it installs in seconds what takes pip a minute."""
    subprocess.run([str(PROJECT / ".make" / "uv"), *arguments], cwd=PROJECT, check=True)
