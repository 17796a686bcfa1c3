"""Sentences about failures of Spark for the page of a run: which file or address failed, why, and what to do.

They are made from the text of an error, which is the same from Java and from Spark Connect, and name no Java classes.
"""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from catalog.reports.storage import redact_address

#: Folder of the exports of grants in the snapshot of a run.
_EXPORTS_PREFIX = "exports/"

_FULL_DISK = ("No space left on device", "Disk quota exceeded")
_LITTLE_MEMORY = ("OutOfMemoryError", "Not enough memory")
_CUT_FILE = ("EOFException", "Unexpected end of input stream", "Unexpected end of ZLIB")
_REFUSED_ACCESS = ("AccessDenied", "AccessControlException", "Permission denied", "403 Forbidden", "401 Unauthorized")

_FILE_PATTERN = re.compile(r"rror while reading file (\S+?)\.?(?=\s|$)")
_PATH_PATTERN = re.compile(r"Path does not exist: (\S+?)\.?(?=\s|$)")
_SCHEME_PATTERN = re.compile(r'No FileSystem for scheme:? "?([\w+-]+)')
_FILE_SYSTEM_PATTERN = re.compile(r"Class \S*?(\w+)FileSystem not found")
_SERVER_PATTERN = re.compile(r"Call From \S+ to (\S+) failed|[Uu]nable to connect to (\S+)|onnect to (\S+:\d+)")
_HOST_PATTERN = re.compile(r"UnknownHostException: (?:java\S+: )?([\w.-]+)")
_CAUSE_PATTERN = re.compile(r"^(?:Caused )?(?:by)?: (?:[\w$]+\.)+[\w$]+: (.+)$", re.MULTILINE)
_CALL_PATTERN = re.compile(r"^An error occurred while calling \S+?\.?$")
_CODE_PATTERN = re.compile(r"^\[[A-Z0-9_.]+\] |\s*SQLSTATE: \w+[\s;]*$")

#: What Spark says of a Python process that is gone.
_LOST_PYTHON = ("Python worker exited unexpectedly", "pyspark.daemon", "Python worker failed to connect")
_STACK_HEADING = "Traceback (most recent call last):"
#: The last line of a stack of Python: the name of the exception, and what it says.
_PYTHON_ERROR_PATTERN = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:: (.*))?$", re.MULTILINE)

_SNAPSHOT_REMEDY = "Start the report again, which takes another snapshot."
_JAVA_GONE = (
    "The Java program of Spark ended before the report was finished, most likely because the machine had no memory "
    "left for it: give the machine more, or Spark less (SPARK_DRIVER_MEMORY)."
)

_PYTHON_GONE = (
    "A Python process of Spark ended before the report was finished, most likely because the machine had no memory "
    "left for it: give the machine more, or Spark fewer cores (SPARK_MASTER) and less memory (SPARK_DRIVER_MEMORY)."
)


def describe_end_of_java() -> str:
    """Return the sentence about a Java program that is gone."""
    return _JAVA_GONE


def describe_error(text: str, *, source: str = "", folder: Path | None = None) -> str:
    """Return the sentence about an error with this text.

    `source` is the URL of the snapshot, relative to which its files are named; `folder` is where Spark keeps files.
    """
    if any(phrase in text for phrase in _FULL_DISK):
        location = f" ({folder})" if folder else ""
        return (
            "There is no room left on the disk. Free some where Spark keeps its files"
            f"{location} and where reports do (REPORTS_DIR), or let VAR_DIR and REPORTS_DIR name a larger disk."
        )
    if any(phrase in text for phrase in _LITTLE_MEMORY):
        return "Spark had too little memory; raise SPARK_DRIVER_MEMORY."
    if any(phrase in text for phrase in _LOST_PYTHON):
        return _PYTHON_GONE
    if _STACK_HEADING in text:
        return _describe_python_error(text)
    if (file := _FILE_PATTERN.search(text)) is not None:
        return _describe_file(name_file(file[1], source), text)
    if (path := _PATH_PATTERN.search(text)) is not None:
        return f"There is no {name_file(path[1], source)}, or Spark may not see it."
    return _describe_storage(text) or f"Spark could not do it: {find_reason(text)}"


def describe_address(address: str, text: str) -> str:
    """Return the sentence about an address that cannot be read, with the reason in the text of the error."""
    reason = _describe_storage(text) or (
        "there is nothing." if is_path_missing(text) or _PATH_PATTERN.search(text) else find_reason(text)
    )
    return f"{redact_address(address)} cannot be read: {reason}"


def is_path_missing(text: str) -> bool:
    """Whether Spark says that it found no file. Its classes of errors have other methods in each version."""
    return "PATH_NOT_FOUND" in text


def is_library_missing(text: str) -> bool:
    """Whether an error says that Spark has no library for addresses of a kind."""
    return (_SCHEME_PATTERN.search(text) or _FILE_SYSTEM_PATTERN.search(text)) is not None


def find_reason(text: str) -> str:
    """Return the innermost message of an error, without names of Java classes."""
    causes = [match[1].strip() for match in _CAUSE_PATTERN.finditer(text) if match[1].strip()]
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _CALL_PATTERN.match(line.strip())]
    reason = next(iter(causes[-1:] or lines[:1]), "no reason was given")
    return _CODE_PATTERN.sub("", _CODE_PATTERN.sub("", reason)).removeprefix(": ")


def name_file(url: str, source: str = "") -> str:
    """Return the name of a file: of one in the snapshot, or among its exports, its path there, else its address."""
    path, source_path = unquote(urlsplit(url).path), unquote(urlsplit(source).path).rstrip("/")
    if not source_path or not path.startswith(f"{source_path}/"):
        return redact_address(url)
    name = path.removeprefix(f"{source_path}/")
    if name.startswith(_EXPORTS_PREFIX):
        return f"{name.removeprefix(_EXPORTS_PREFIX)} of the exports of grants"
    # Spark writes tables as folders.
    return f"{next((part for part in name.split('/') if part.endswith('.parquet')), name)} of the snapshot"


def _describe_file(name: str, text: str) -> str:
    remedy = _SNAPSHOT_REMEDY if name.endswith("of the snapshot") else "Export it again."
    if ".parquet" not in name and any(phrase in text for phrase in _CUT_FILE):
        return f"{name} ends in the middle: it was not written or copied to its end. {remedy}"
    if any(phrase in text for phrase in _REFUSED_ACCESS):
        return f"{name} cannot be read: the account of Spark has no access to it."
    if ".parquet" in name:
        return f"{name} is damaged: {_end_sentence(find_reason(text))} {remedy}"
    return f"{name} cannot be read: {_end_sentence(find_reason(text))} {remedy}"


def _describe_python_error(text: str) -> str:
    """Return the sentence about an exception in a Python process of Spark, whose stack is in the text."""
    error = _PYTHON_ERROR_PATTERN.search(text.rpartition(_STACK_HEADING)[2])
    name, message = (error[1], _CODE_PATTERN.sub("", error[2] or "")) if error is not None else ("", "")
    match name:
        case "CorruptSnapshot":
            return f"{message} {_SNAPSHOT_REMEDY}"
        case "MemoryError" | "ArrowMemoryError":
            return _PYTHON_GONE
        case "ModuleNotFoundError" | "ImportError":
            return f"A Python process of Spark lacks a library: {_end_sentence(message)} Install it where Spark runs."
        case "OSError" | "FileNotFoundError" | "PermissionError" | "NotADirectoryError":
            return (
                f"A Python process of Spark could not read or write a file: {_end_sentence(message)} All of them have "
                "to reach the folder of reports (REPORTS_DIR)."
            )
        case _ if name.startswith("PySpark") and message:
            return f"Spark could not do it: {_end_sentence(message)}"
        case _:
            return "A Python process of Spark failed with an unexpected error; the log says where."


def _describe_storage(text: str) -> str:
    """Return the sentence about a storage that cannot be reached or read, or ""."""
    if (scheme := _SCHEME_PATTERN.search(text) or _FILE_SYSTEM_PATTERN.search(text)) is not None:
        return (
            f"Spark has no library for addresses of the kind {scheme[1].lower()}:. Add it "
            "(spark.jars.packages in SPARK_SUBMIT_ARGUMENTS), or let the address name a folder."
        )
    if (host := _HOST_PATTERN.search(text)) is not None:
        return f"There is no host called {host[1]}."
    if "Connection refused" in text or "ConnectException" in text:
        server = _SERVER_PATTERN.search(text)
        address = next((group for group in server.groups() if group), "") if server is not None else ""
        return f"Nothing answers at {address or 'the address'}."
    if any(phrase in text for phrase in _REFUSED_ACCESS):
        return "The account of Spark has no access to it."
    return ""


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
