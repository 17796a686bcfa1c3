"""One session of Spark for several jobs, one after the other, opened when the first of them needs it."""

from contextlib import ExitStack
from types import TracebackType

from pyspark.sql import SparkSession

from catalog.reports.spark import session_settings
from catalog.reports.spark.session import (
    find_local_folder,
    has_executors,
    is_spark_error,
    is_started_here,
    open_session,
    ship_code,
)
from catalog.reports.spark.shipped_code import build_archive


class SharedSession:
    """A session that is opened by the first job and closed at the end of the block."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._session: SparkSession | None = None
        self._is_short = False
        self._job_settings: dict[str, str] = {}

    def __enter__(self) -> "SharedSession":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stack.close()

    def can_run(self, *, is_short: bool) -> bool:
        """Whether such a job can be run: the session is not open yet, or works and has the Java that the job needs.

        Short jobs can do with any Java.
        """
        return self._session is None or ((is_short or not self._is_short) and _is_working(self._session))

    def open(self, *, is_short: bool) -> SparkSession:
        """Return the session, ready for a job. Raises SparkUnavailable."""
        if self._session is None:
            self._session = self._stack.enter_context(open_session("reports", is_short=is_short))
            self._is_short = is_short
            if has_executors(self._session):
                ship_code(self._session, build_archive(find_local_folder()))
            if is_started_here():
                self._job_settings = session_settings.read_job_settings(self._session)
        session_settings.apply_job_settings(self._session, self._job_settings, is_short=is_short)
        return self._session


def _is_working(session: SparkSession) -> bool:
    try:
        session.range(1).collect()
    except Exception as error:
        if not is_spark_error(error):
            raise
        return False
    return True
