"""Where Spark's own readers read a folder: at its address, or where Spark has no library for that, in a copy.

A copy is on this machine, so it helps only while Spark is. Spark itself is asked which libraries it has: no other
question has an answer in every version, on any server.
"""

from pathlib import Path
from threading import Lock

from pyspark.sql import SparkSession

from catalog.reports.spark import error_sentences
from catalog.reports.spark.session import has_executors, is_spark_error
from catalog.reports.storage import StorageFolder, parse_address


class ReadableFolders:
    """The folders that one job reads with Spark. Copies are below `folder`, which `delete_copies` deletes."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session = session
        self._copies_folder = parse_address(folder)
        self._copies: dict[StorageFolder, StorageFolder] = {}
        self._made_copies: set[StorageFolder] = set()
        self._has_library: dict[str, bool] = {}
        self._lock = Lock()

    def find_url(self, folder: StorageFolder, name: str = "") -> str:
        """Return the URL where Spark reads a folder, or the file or folder in it of this name, in any thread.

        Raises OSError where it has to be copied and cannot be.
        """
        with self._lock:
            return self._find_url(folder, name)

    def find_read_folder(self, folder: StorageFolder) -> StorageFolder:
        """Return the folder itself, or its copy where Spark reads that."""
        return self._copies.get(folder, folder)

    def find_written_folder(self, folder: StorageFolder) -> StorageFolder:
        """Return a folder that Spark can write and read: this one, or one on this machine."""
        return self._copies_folder / "written" if self._needs_copy(folder, folder.spark_url) else folder

    def delete_copies(self) -> None:
        """Delete all copies. Raises OSError."""
        self._copies_folder.delete()

    def _find_url(self, folder: StorageFolder, name: str) -> str:
        source = folder / name if name else folder
        if not self._needs_copy(folder, source.spark_url):
            return source.spark_url
        copied_folder = self._copies.setdefault(folder, self._copies_folder / str(len(self._copies)))
        copy = copied_folder / name if name else copied_folder
        if copy not in self._made_copies:
            source.copy_to(copy)
            self._made_copies.add(copy)
        return copy.spark_url

    def _needs_copy(self, folder: StorageFolder, url: str) -> bool:
        """Whether Spark has no library for the address of a folder and is on this machine."""
        if folder.is_local:
            return False
        if folder.scheme not in self._has_library:
            self._has_library[folder.scheme] = self._can_open(url)
        return not self._has_library[folder.scheme] and not has_executors(self._session)

    def _can_open(self, url: str) -> bool:
        """Whether Spark has a library for a URL, whatever is wrong with it otherwise: reading it will say that."""
        try:
            # Spark looks for the files before it says what the columns are.
            _ = self._session.read.text(url).schema
        except Exception as error:
            if not is_spark_error(error):
                raise
            return not error_sentences.is_library_missing(str(error))
        return True
