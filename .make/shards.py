"""Files of tests, dealt to processes so that each takes about as long: no process reads all of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from record import Record

#: Processor seconds of one process: long enough that its start is a small part, short enough that none is left alone.
SHARD_SECONDS = 100.0
#: What a file takes that no run has measured yet, and what reading any file takes.
UNKNOWN_SECONDS, READING_SECONDS = 3.0, 0.3


def list_files(root: Path) -> list[str]:
    """Return the paths of all files of tests, seen from the root."""
    return sorted(path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))


def estimate_seconds(files: Iterable[str], record: Record, stage: str) -> dict[str, float]:
    """Return the seconds that each file is expected to take in a stage; one that had no test there is only read."""
    known = {file for of_stage in record.seconds.values() for file in of_stage}
    of_stage = record.seconds.get(stage, {})
    return {file: READING_SECONDS + of_stage.get(file, 0 if file in known else UNKNOWN_SECONDS) for file in files}


def deal(
    seconds: Mapping[str, float], shard_seconds: float = SHARD_SECONDS, most: int | None = None
) -> list[tuple[list[str], float]]:
    """Return files in groups of about `shard_seconds`, at most `most` of them, each with its seconds.

    The longest file is dealt first, and each file to the group that takes least.
    """
    count = min(len(seconds), max(1, round(sum(seconds.values()) / shard_seconds)), most or len(seconds))
    shards: list[tuple[list[str], float]] = [([], 0.0) for _ in range(count)]
    for file in sorted(seconds, key=lambda file: (-seconds[file], file)):
        least = min(range(count), key=lambda number: shards[number][1])
        files, total = shards[least]
        shards[least] = ([*files, file], total + seconds[file])
    return [(sorted(files), total) for files, total in shards]
