"""Names and words as SQL and its catalogs write them. All arguments and results are expressions of SQL."""

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.grant_facts import spell
from catalog.warehouses.principals import SEPARATOR
from catalog.warehouses.warehouse import Export
from catalog.warehouses.zones import ZONE_OFFSETS

#: One part of a name: quoted, with doubled quotation marks, or up to the next dot.
_NAME_PART_PATTERN = r'"((?:[^"]|"")*)"|([^."]+)'

_DATE_PATTERN = r"^\d{4}-\d\d?-\d\d?"
#: A time without a zone.
_PLAIN_TIME_PATTERN = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?)?$"

#: The abbreviation of a zone, as PostgreSQL ends times of its log with.
_ZONE_PATTERN = r" ([A-Z]{2,5})$"

_OFFSETS_MAP = f"map{list_texts(text for pair in ZONE_OFFSETS.items() for text in pair)}"

_QUOTED_NAME_PATTERN = r'^"([^"]|"")+"$'


def split_name(export: Export, name: str, quote: str = '"') -> str:
    """Return the parts of an SQL name, joined by SEPARATOR; those without quotation marks as the source folds them."""
    pattern = quote_text(_NAME_PART_PATTERN.replace('"', quote))
    quoted_parts, bare_parts = (f"regexp_extract_all({name}, {pattern}, {group})" for group in (1, 2))
    part = f"""CASE WHEN bare_part <> '' THEN {spell(export, "bare_part")}
        ELSE replace(quoted_part, {quote_text(2 * quote)}, {quote_text(quote)}) END"""
    name_parts = f"zip_with({quoted_parts}, {bare_parts}, (quoted_part, bare_part) -> {part})"
    return f"array_join({name_parts}, {quote_text(SEPARATOR)})"


def unquote_name(name: str) -> str:
    """Return a name of one part as the source stores it: without the quotation marks around it, if there are any."""
    return f"CASE WHEN {_is_quoted(name)} THEN {_strip_quotes(name)} ELSE {name} END"


def _is_quoted(name: str) -> str:
    # Few names begin so, and a pattern costs more than this look.
    return f"startswith({name}, '\"') AND {name} RLIKE {quote_text(_QUOTED_NAME_PATTERN)}"


def _strip_quotes(name: str) -> str:
    return f"""replace(substring({name}, 2, char_length({name}) - 2), '""', '"')"""


def fold_name(export: Export, name: str) -> str:
    """Return an SQL name of one part as the source stores it."""
    return f"CASE WHEN {_is_quoted(name)} THEN {_strip_quotes(name)} ELSE {spell(export, name)} END"


def parse_time(time: str) -> str:
    """Return a text as a timestamp, null if it is none; a zone may have no colon and stand after a space.

    Without a date it is none: Spark takes an hour for one of today.
    """
    text = f"regexp_replace(trim(CAST({time} AS string)), {quote_text(' Z$')}, 'Z')"
    offset = quote_text(r" ?([+-]\d\d):?(\d\d)$")
    text = _replace_zone(f"regexp_replace({text}, {offset}, {quote_text('$1:$2')})")
    # Most times are plain, and each of the patterns costs as much as this one.
    return f"""CASE WHEN {time} RLIKE {quote_text(_PLAIN_TIME_PATTERN)} THEN try_to_timestamp({time})
        WHEN {text} RLIKE {quote_text(_DATE_PATTERN)} THEN try_to_timestamp({text}) END"""


def _replace_zone(time: str) -> str:
    """Return a time with its offset in place of the abbreviation of its zone, null for an unknown one."""
    pattern = quote_text(_ZONE_PATTERN)
    zone = f"regexp_extract({time}, {pattern}, 1)"
    offset_time = f"concat(regexp_replace({time}, {pattern}, ''), try_element_at({_OFFSETS_MAP}, {zone}))"
    return f"CASE WHEN {zone} = '' THEN {time} ELSE {offset_time} END"


def normalize_word(name: str) -> str:
    """Return a word of a fixed vocabulary in capitals, with spaces for underscores."""
    word = f"upper(trim(coalesce({name}, '')))"
    # To look for a letter costs less than to replace it, which most words need not.
    return f"CASE WHEN contains({word}, '_') THEN replace({word}, '_', ' ') ELSE {word} END"
