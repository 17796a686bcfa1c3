"""The rules by which lines of a history are no use of a table: each has a name, and a phrase for the report."""

from collections.abc import Mapping
from enum import StrEnum


class HistoryRule(StrEnum):
    """The rules by which a line is no use of a table."""

    REFUSED = "refused"
    METADATA_ONLY = "metadata_only"
    NO_TABLE = "no_table"
    UNKNOWN_TABLE = "unknown_table"


#: What each rule passes over, as pages say it.
HISTORY_RULE_LABELS: Mapping[str, str] = {
    HistoryRule.REFUSED: "Refused or failed",
    HistoryRule.METADATA_ONLY: "About the description of tables, not their data",
    HistoryRule.NO_TABLE: "Of no table",
    HistoryRule.UNKNOWN_TABLE: "Of tables that the catalog does not have",
}
