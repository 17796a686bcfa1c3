"""Folders at an address: on this machine, or in storage that other machines reach (docs/scale.md).

Credentials are where the library of a storage looks for them, mostly in the environment; no address may hold any. No
Django here, since jobs and the processes of Spark use this. pyarrow is imported when a folder is first used, because
web processes know folders by their names only.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import uuid4

if TYPE_CHECKING:
    from pyarrow import NativeFile, fs

FILE, S3, GOOGLE, AZURE, HADOOP = "file", "s3", "gs", "abfss", "hdfs"

#: Schemes of addresses -> what pyarrow calls them.
_SCHEMES = {FILE: FILE, S3: S3, "s3a": S3, "s3n": S3, GOOGLE: GOOGLE, "gcs": GOOGLE, AZURE: AZURE, HADOOP: HADOOP}
#: What Spark calls schemes that have another name there.
_SPARK_SCHEMES = {S3: "s3a"}
#: Storage with folders, where a rename costs nothing and happens at once.
_RENAMING_SCHEMES = frozenset({FILE, HADOOP})

#: End of the names of files that are still written.
UNFINISHED = ".part"

_CONNECT_SECONDS, _REQUEST_SECONDS = 5, 60
_RETRY_SECONDS = 30


class BadAddress(ValueError):
    """A text is no address of a folder; the message says why, and names no secret."""


class UnknownScheme(BadAddress):
    """An address begins with what names no storage."""


@contextmanager
def _raise_os_errors() -> Iterator[None]:
    """Raise what pyarrow raises as OSError; for some storage it has an exception of its own."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        raise OSError(str(error)) from error


@dataclass(frozen=True, slots=True)
class StorageFolder:
    """A folder, which need not be there. `server` is the bucket, or host; `path` has no slash at its end."""

    scheme: str
    server: str
    path: str

    def __truediv__(self, name: str) -> "StorageFolder":
        return replace(self, path=f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.path if self.scheme == FILE else self.url

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> "StorageFolder":
        """The folder that this one is in."""
        return replace(self, path=self.path.rpartition("/")[0])

    @property
    def url(self) -> str:
        """The address, from which `parse_address` makes this folder."""
        return Path(self.path).as_uri() if self.scheme == FILE else f"{self.scheme}://{self.server}{self.path}"

    @property
    def spark_url(self) -> str:
        """The address as Spark reads it, which takes paths as they are and not as parts of a URL."""
        return f"{_SPARK_SCHEMES.get(self.scheme, self.scheme)}://{self.server}{self.path}"

    @property
    def is_local(self) -> bool:
        """Whether this is a folder of a file system that is mounted here."""
        return self.scheme == FILE

    @property
    def is_renamable(self) -> bool:
        """Whether a rename of a file is one step. Elsewhere a file appears when it is closed."""
        return self.scheme in _RENAMING_SCHEMES

    @_raise_os_errors()
    def open(self) -> "tuple[fs.FileSystem, str]":
        """Return the file system of this folder, and its path there. Raises OSError."""
        path = f"{_find_root(self.scheme, self.server)}{self.path}"
        return _open_file_system(self.scheme, self.server, _read_s3_settings()), path

    @_raise_os_errors()
    def read_s3_options(self) -> dict[str, str]:
        """Return how S3 is reached, for a library that finds credentials itself; {} elsewhere. Raises OSError."""
        if self.scheme != S3:
            return {}
        endpoint, _ = _read_s3_settings()
        options = {"aws_region": self.open()[0].region}
        if endpoint:
            options |= {"aws_endpoint": endpoint, "aws_allow_http": str(endpoint.startswith("http://")).lower()}
        return options

    @_raise_os_errors()
    def is_there(self) -> bool:
        """Whether the folder is there; where storage has no folders, whether it has a file. Raises OSError."""
        from pyarrow import fs

        file_system, path = self.open()
        return bool(file_system.get_file_info(path).type == fs.FileType.Directory)

    @_raise_os_errors()
    def has_file(self, name: str) -> bool:
        """Whether the folder has this file. Raises OSError."""
        file_system, path = self.open()
        return bool(file_system.get_file_info(f"{path}/{name}").is_file)

    @_raise_os_errors()
    def create(self) -> None:
        """Create the folder and those above, where storage has any. Raises OSError."""
        if self.is_renamable:
            file_system, path = self.open()
            file_system.create_dir(path)

    @_raise_os_errors()
    def list_names(self) -> list[str]:
        """Return the names of the files and folders in it, sorted; [] where it is not there. Raises OSError."""
        from pyarrow import fs

        file_system, path = self.open()
        return sorted(info.base_name for info in file_system.get_file_info(fs.FileSelector(path, allow_not_found=True)))

    @_raise_os_errors()
    def measure_size(self) -> int:
        """Return the size of all files below the folder, in bytes. Raises OSError."""
        from pyarrow import fs

        file_system, path = self.open()
        return sum(info.size or 0 for info in file_system.get_file_info(fs.FileSelector(path, recursive=True)))

    @_raise_os_errors()
    def list_sizes(self) -> dict[str, int]:
        """Return the size of each file below the folder, by its path there, in bytes. Raises OSError."""
        from pyarrow import fs

        file_system, path = self.open()
        files = (info for info in file_system.get_file_info(fs.FileSelector(path, recursive=True)) if info.is_file)
        return {info.path.removeprefix(f"{path}/"): info.size or 0 for info in files}

    @_raise_os_errors()
    def list_times(self) -> dict[str, int]:
        """Return when each file below the folder was written, by its path there, in seconds since 1970.

        Files of storage that does not say so are left out. Raises OSError.
        """
        from pyarrow import fs

        file_system, path = self.open()
        files = (info for info in file_system.get_file_info(fs.FileSelector(path, recursive=True)) if info.is_file)
        return {info.path.removeprefix(f"{path}/"): int(info.mtime.timestamp()) for info in files if info.mtime}

    @_raise_os_errors()
    def open_input(self, name: str) -> "NativeFile":
        """Open a file for reading at any position. Raises OSError."""
        file_system, path = self.open()
        return file_system.open_input_file(f"{path}/{name}")

    @_raise_os_errors()
    def open_output(self, name: str) -> "NativeFile":
        """Open a file for writing; only when it is closed it is surely there. Raises OSError."""
        file_system, path = self.open()
        return file_system.open_output_stream(f"{path}/{name}")

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a file. Raises OSError."""
        with self.open_input(name) as file:
            return bytes(file.readall())

    def write_bytes(self, name: str, *parts: "bytes | memoryview[int]") -> None:
        """Write a file of these parts under its name once it is whole; another is replaced. Raises OSError."""
        # A file of object storage appears when it is closed.
        written_name = f"{name}.{uuid4().hex}{UNFINISHED}" if self.is_renamable else name
        with self.open_output(written_name) as file:
            for part in parts:
                file.write(part)
        if self.is_renamable:
            file_system, path = self.open()
            file_system.move(f"{path}/{written_name}", f"{path}/{name}")

    def write_text(self, name: str, text: str) -> None:
        """Write a file of text, in UTF-8, under its name once it is whole. Raises OSError."""
        self.write_bytes(name, text.encode())

    @_raise_os_errors()
    def delete_file(self, name: str) -> None:
        """Delete a file. Raises OSError."""
        file_system, path = self.open()
        file_system.delete_file(f"{path}/{name}")

    @_raise_os_errors()
    def delete(self) -> None:
        """Delete the folder with all that is in it; none is no error. Raises OSError."""
        file_system, path = self.open()
        with suppress(FileNotFoundError):
            file_system.delete_dir(path)

    @_raise_os_errors()
    def link_file(self, name: str, target: "StorageFolder") -> None:
        """Give a file that never changes a second name in another folder of the same storage. Raises OSError.

        It is copied where that is impossible, within the storage.
        """
        file_system, path = self.open()
        source_path, target_path = f"{path}/{name}", f"{target.open()[1]}/{name}"
        if self.is_local:
            try:
                os.link(source_path, target_path)
            except (FileNotFoundError, FileExistsError):
                # A copy over another name of the same file would empty it under every name.
                raise
            except OSError:
                file_system.copy_file(source_path, target_path)
        else:
            file_system.copy_file(source_path, target_path)

    @_raise_os_errors()
    def copy_to(self, target: "StorageFolder") -> None:
        """Copy all files in it, or if this is a file, it alone, to another place. Raises OSError."""
        from pyarrow import fs

        (file_system, path), (target_system, target_path) = self.open(), target.open()
        (target if self.is_there() else target.parent).create()
        fs.copy_files(path, target_path, source_filesystem=file_system, destination_filesystem=target_system)


def parse_address(address: str | Path) -> StorageFolder:
    """Return the folder at an address, which is a path or a URL. Raises BadAddress, and its UnknownScheme."""
    if isinstance(address, Path) or not _is_url(address):
        scheme, colon, _ = str(address).partition(":")
        if colon and scheme in _SCHEMES:
            raise BadAddress(
                f"An address that begins with {scheme}: goes on with a slash, such as {scheme}://bucket/folder, or "
                "file:///folder for one of this machine."
            )
        return StorageFolder(FILE, "", str(Path(address).resolve()))
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise BadAddress(
            f"{redact_address(address)} is no address: the name of its server has a wrong bracket."
        ) from error
    if parts.scheme not in _SCHEMES:
        raise UnknownScheme(
            f"{redact_address(address)} begins with {parts.scheme}:, which names no storage: a folder, or one of "
            f"{', '.join(f'{name}:' for name in sorted(set(_SCHEMES)))} is possible."
        )
    scheme = _SCHEMES[parts.scheme]
    if problem := _find_problem(scheme, parts):
        raise BadAddress(f"{redact_address(address)} {problem}")
    if scheme == FILE:
        return StorageFolder(FILE, "", str(Path(unquote(parts.path)).resolve()))
    return StorageFolder(scheme, parts.netloc, parts.path.rstrip("/"))


def _find_problem(scheme: str, parts: SplitResult) -> str:
    """Return the sentence about a URL that this storage cannot have, or ""."""
    if parts.query or parts.fragment or (parts.username is not None and scheme != AZURE) or parts.password is not None:
        return (
            "has more than a server and a path in it. Accounts, keys and options belong into the environment, where "
            "the library of the storage reads them."
        )
    if scheme == FILE:
        is_here = parts.netloc in ("", "localhost")
        return "" if is_here else f"names the machine {parts.netloc}: a folder of this one has to be file:///folder."
    if not parts.netloc and scheme != HADOOP:
        return f"names no bucket: it has to be {parts.scheme}://bucket/folder."
    if scheme == AZURE and not (parts.username and parts.hostname):
        return (
            "does not name both container and account: it has to be "
            "abfss://container@account.dfs.core.windows.net/folder."
        )
    return ""


def redact_address(address: str) -> str:
    """Return an address without what could be a secret in it: user, password and query."""
    if not _is_url(address):
        return address
    scheme, separator, rest = re.split("(:/+)", re.split("[?#]", address, maxsplit=1)[0], maxsplit=1)
    server, slash, path = rest.partition("/")
    user, _, host = server.rpartition("@")
    # The name of a container, which is no user.
    container = f"{user}@" if user and ":" not in user and scheme == AZURE else ""
    return f"{scheme}{separator}{container}{host}{slash}{path}"


def _is_url(text: str) -> bool:
    return ":/" in text


def _find_root(scheme: str, server: str) -> str:
    """Return what comes before the path of an address in the paths of its file system."""
    return {FILE: "", HADOOP: "", AZURE: server.partition("@")[0]}.get(scheme, server)


def _read_s3_settings() -> tuple[str, str]:
    """Return endpoint and region of the environment, which pyarrow does not read."""
    variables = os.environ
    return (
        variables.get("AWS_ENDPOINT_URL_S3") or variables.get("AWS_ENDPOINT_URL") or "",
        variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or "",
    )


@lru_cache(maxsize=16)
def _open_file_system(scheme: str, server: str, s3_settings: tuple[str, str]) -> "fs.FileSystem":
    from pyarrow import fs

    if scheme == FILE:
        return fs.LocalFileSystem()
    if scheme == S3:
        return _open_s3(server, *s3_settings)
    options = f"?retry_limit_seconds={_RETRY_SECONDS}" if scheme == GOOGLE else ""
    return fs.FileSystem.from_uri(f"{scheme}://{server}/{options}")[0]


def _open_s3(bucket: str, endpoint: str, region: str) -> "fs.FileSystem":
    from pyarrow import fs

    options: dict[str, Any] = {}
    if endpoint:
        parts = urlsplit(endpoint)
        options = {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    return fs.S3FileSystem(
        # Only Amazon's own servers know where a bucket is.
        region=region or ("us-east-1" if endpoint else fs.resolve_s3_region(bucket)),
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_REQUEST_SECONDS,
        **options,
    )
