"""Whether a folder at an address can be used, found out before a run needs it, and sentences about storage that fails.

The libraries of storage repeat what fails for up to minutes. A program of its own asks them, so that it can be ended
after a few seconds and a web process loads none of them: `python -m catalog.reports.storage_problems ADDRESS`.
"""

import errno
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from uuid import uuid4

from catalog.reports.storage import AZURE, GOOGLE, HADOOP, S3, BadAddress, StorageFolder, UnknownScheme, parse_address

#: Seconds in which storage has to answer.
ANSWER_SECONDS = 8

_PROJECT_FOLDER = Path(__file__).parents[2]

#: What has to be in the environment of the processes that use a storage.
_CREDENTIALS = {
    S3: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the role of the machine",
    GOOGLE: "GOOGLE_APPLICATION_CREDENTIALS, or the account of the machine",
    AZURE: "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or the identity of the machine",
    HADOOP: "HADOOP_USER_NAME, or a ticket of Kerberos",
}
#: Where another address of the server than the usual one is set.
_ENDPOINTS = {S3: " (AWS_ENDPOINT_URL)"}

#: Variables of the environment that say that a storage is used with what they tell.
_VARIABLES = {
    S3: ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
    GOOGLE: ("GOOGLE_APPLICATION_CREDENTIALS",),
    AZURE: ("AZURE_CLIENT_ID",),
}
#: What pyarrow is built with or not.
_CLASSES = {S3: "S3FileSystem", GOOGLE: "GcsFileSystem", AZURE: "AzureFileSystem", HADOOP: "HadoopFileSystem"}

_NO_LIBRARY = ("libjvm", "libhdfs", "CLASSPATH", "ot compiled with", "ithout S3 support", "nrecognized filesystem")
_NO_BUCKET = ("NO_SUCH_BUCKET", "NoSuchBucket", "bucket does not exist", "ContainerNotFound", "HTTP status 404")
_REFUSED = (
    *("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "HTTP status 403", "HTTP status 401"),
    *("EXPIRED_TOKEN", "INVALID_CLIENT_TOKEN_ID", "UNRECOGNIZED_CLIENT", "MISSING_AUTHENTICATION_TOKEN"),
    *("AuthenticationException", "AuthorizationPermissionMismatch", "PERMISSION_DENIED", "Permission denied"),
    *("Could not create a OAuth2", "credentials"),
)
_LOCAL_PATH_PATTERN = re.compile(r"'(/[^']+)'")
_HOST_PATTERN = re.compile(r"Could not resolve host(?:name)?: ([\w.-]+)|UnknownHostException: ([\w.-]+)")
_SERVER_PATTERN = re.compile(r"(?:Failed|ailed) to connect to (\S+)|Call From \S+ to (\S+) failed")


def find_static_problem(address: str, *, variable: str) -> str:
    """Return the sentence about an address in this variable that can never be used here, or ""; asks no server."""
    try:
        folder = parse_address(address)
    except BadAddress as error:
        return f"{variable}: {error}"
    class_name = _CLASSES.get(folder.scheme)
    if class_name is not None and not hasattr(import_module("pyarrow.fs"), class_name):
        return f"{variable}: {folder} cannot be used: the installed pyarrow has no library for {folder.scheme}:."
    return ""


def find_reading_problem(address: str, *, variable: str) -> str:
    """Return the sentence about an address in this variable that Spark cannot read, or "".

    Spark knows further kinds of addresses, and may have accounts of its own: only storage for which the environment has
    something is asked.
    """
    try:
        folder = parse_address(address)
    except UnknownScheme:
        return ""
    except BadAddress as error:
        return f"{variable}: {error}"
    is_known = any(os.environ.get(name) for name in _VARIABLES.get(folder.scheme, ()))
    return _ask_storage(folder, variable, is_written=False) if is_known else ""


def find_writing_problem(address: str, *, variable: str) -> str:
    """Return the sentence about an address in this variable where nothing can be written, or "".

    A folder of this machine has none: processes elsewhere may see another one there.
    """
    if problem := find_static_problem(address, variable=variable):
        return problem
    folder = parse_address(address)
    return "" if folder.is_local else _ask_storage(folder, variable, is_written=True)


def _ask_storage(folder: StorageFolder, variable: str, *, is_written: bool) -> str:
    command = [sys.executable, "-m", __name__, folder.url, *(["--write"] if is_written else [])]
    try:
        answer = subprocess.run(
            command,
            cwd=_PROJECT_FOLDER,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (
            f"{variable}: {folder} gave no answer in {ANSWER_SECONDS} seconds. Check the address"
            f"{_name_endpoint(folder)}, and the credentials in the environment: {_CREDENTIALS[folder.scheme]}."
        )
    except OSError as error:
        return f"{variable}: {folder} cannot be checked: {error.strerror or error}."
    sentence = answer.stdout.decode(errors="replace").strip()
    if answer.returncode and not sentence:
        sentence = f"{folder} cannot be checked: the library of {folder.scheme}: ended with code {answer.returncode}."
    return f"{variable}: {sentence}" if sentence else ""


def describe_error(folder: StorageFolder, error: Exception) -> str:
    """Return the sentence about a folder that cannot be used, with what to do."""
    text = str(error)
    if any(phrase in text for phrase in _NO_LIBRARY):
        remedy = (
            "set JAVA_HOME, HADOOP_HOME and CLASSPATH (hadoop classpath --glob)"
            if folder.scheme == HADOOP
            else "install a pyarrow that has it"
        )
        return f"{folder} cannot be used: there is no library for {folder.scheme}: here; {remedy}."
    if any(phrase in text for phrase in _NO_BUCKET):
        return f"{folder} cannot be used: there is no bucket {folder.server}. Create it, or correct the address."
    if (host := _HOST_PATTERN.search(text)) is not None:
        return f"{folder} cannot be used: there is no host {host[1] or host[2]}{_name_endpoint(folder)}."
    if (server := _SERVER_PATTERN.search(text)) is not None:
        address = server[1] or server[2]
        return f"{folder} cannot be used: nothing answers at {address}{_name_endpoint(folder)}."
    if any(phrase in text for phrase in _REFUSED):
        return (
            f"{folder} cannot be used: its server refuses access. Check what the account may do, and the credentials "
            f"in the environment: {_CREDENTIALS.get(folder.scheme, 'those of the storage')}."
        )
    return f"{folder} cannot be used: {_shorten(text) or type(error).__name__}."


def describe_local_error(error: OSError, folder: StorageFolder) -> str:
    """Return the sentence about a file in a folder of this machine that cannot be read or written, with what to do."""
    # pyarrow says the path in the message only.
    path = _LOCAL_PATH_PATTERN.search(str(error))
    name = error.filename or (path[1] if path is not None else folder)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"There is no room left on the disk of {error.filename or folder}. Free some, or let REPORTS_DIR name a "
            "larger disk."
        )
    reason = os.strerror(error.errno).lower() if error.errno else _shorten(str(error))
    return (
        f"{name} could not be read or written: {reason}. Check that the account of the workers may write to the folder "
        "of reports, or let REPORTS_DIR name another one."
    )


def _name_endpoint(folder: StorageFolder) -> str:
    return _ENDPOINTS.get(folder.scheme, "")


def _shorten(text: str) -> str:
    """Return the first line of the message of a library, without the number of its request."""
    return re.sub(r"\s*\(Request ID: .*?\)", "", text.partition("\n")[0])[:300].rstrip(" .")


def _try_folder(folder: StorageFolder, *, is_written: bool) -> str:
    """Return the sentence about a folder that cannot be read, or written, or ""."""
    try:
        if is_written:
            name = f"check-{uuid4().hex}"
            folder.create()
            folder.write_text(name, "Whether reports can be kept here.\n")
            folder.delete_file(name)
        elif not folder.is_there():
            return f"{folder} cannot be used: there is nothing."
    except OSError as error:
        return describe_error(folder, error)
    return ""


if __name__ == "__main__":
    sys.stdout.write(_try_folder(parse_address(sys.argv[1]), is_written="--write" in sys.argv[2:]))
