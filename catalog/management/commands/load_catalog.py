"""`manage.py load_catalog FILE…`: store the proposals in files of `datahub ingest`'s file sink."""

import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError

from catalog.ingest import file_import
from policies.errors import Invalid
from policies.pdp.authorizer import SYSTEM


class Command(BaseCommand):
    """Import files as the system; a file whose validation fails stores nothing."""

    help = "Load metadata proposals from files that DataHub's file sink wrote: JSON lists, plain or gzipped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the files."""
        parser.add_argument("files", nargs="+", metavar="FILE", help="path of a file, or - for standard input")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import the files in order; the first refused one ends the command."""
        for name in options["files"]:
            start_time = monotonic()
            result = self._load(name)
            seconds = monotonic() - start_time
            self.stdout.write(
                f"{name}: {result.proposals} proposals, {result.entities} entities touched, {seconds:.1f} s"
            )

    def _load(self, name: str) -> file_import.ImportResult:
        try:
            if name == "-":
                with TemporaryFile() as copy:
                    # A file is read twice, but a pipe can be read only once.
                    shutil.copyfileobj(sys.stdin.buffer, copy)
                    copy.seek(0)
                    return self._read(copy)
            with Path(name).open("rb") as stream:
                return self._read(stream)
        except OSError as error:
            raise CommandError(f"{name} cannot be read: {error.strerror or error}.") from error
        except Invalid as error:
            for problem in error.problems:
                self.stderr.write(f"{name} {problem.pointer or '/'}: {problem.detail} [{problem.code}]")
            count = len(error.problems)
            raise CommandError(
                f"{name}: {count} problem{'' if count == 1 else 's'}; nothing of it was stored."
            ) from error

        except file_import.ImportInterrupted as error:
            for problem in error.error.problems if isinstance(error.error, Invalid) else ():
                self.stderr.write(f"{name} {problem.pointer or '/'}: {problem.detail} [{problem.code}]")
            outcome = (
                f"its first {error.stored_count} proposals are stored"
                if error.stored_count
                else "nothing of it was stored"
            )
            raise CommandError(f"{name}: {error}; {outcome}.") from error

    def _read(self, stream: IO[bytes]) -> file_import.ImportResult:
        try:
            return file_import.load(stream=stream, by=SYSTEM, channel="load_catalog", on_progress=self._show_progress)
        finally:
            if self.stderr.isatty():
                self.stderr.write("")

    def _show_progress(self, count: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{count} proposals", ending="")
            self.stderr.flush()
