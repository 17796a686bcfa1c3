"""Names and words as SQL and its catalogs write them, as columns."""

from pyspark.sql import Column
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.zones import ZONE_OFFSETS
from catalog.reports.kinds.role_mapping_check.grant_facts import spell
from catalog.reports.kinds.role_mapping_check.principals import SEPARATOR
from catalog.reports.spark.sql_text import list_texts

#: One part of a name: quoted, with doubled quotation marks, or up to the next dot.
_NAME_PART_PATTERN = r'"((?:[^"]|"")*)"|([^."]+)'

_DATE_PATTERN = r"^\d{4}-\d\d?-\d\d?"
#: A time without a zone.
_PLAIN_TIME_PATTERN = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?)?$"

#: The abbreviation of a zone, as PostgreSQL ends times of its log with.
_ZONE_PATTERN = r" ([A-Z]{2,5})$"

_OFFSETS_MAP = f"map{list_texts(text for pair in ZONE_OFFSETS.items() for text in pair)}"

_QUOTED_NAME_PATTERN = r'^"([^"]|"")+"$'


def split_name(export: Export, name: Column, quote: str = '"') -> Column:
    """Return the parts of an SQL name, joined by SEPARATOR; those without quotation marks as the source folds them."""
    pattern = f.lit(_NAME_PART_PATTERN.replace('"', quote))
    quoted_parts = f.regexp_extract_all(name, pattern, f.lit(1))
    bare_parts = f.regexp_extract_all(name, pattern, f.lit(2))
    name_parts = f.zip_with(
        quoted_parts,
        bare_parts,
        lambda quoted_part, bare_part: f.when(bare_part != "", spell(export, bare_part)).otherwise(
            f.replace(quoted_part, f.lit(2 * quote), f.lit(quote))
        ),
    )
    return f.array_join(name_parts, SEPARATOR)


def unquote_name(name: Column) -> Column:
    """Return a name of one part as the source stores it: without the quotation marks around it, if there are any."""
    bare_name = name.substr(f.lit(2), f.length(name) - 2)
    return f.when(_is_quoted(name), f.replace(bare_name, f.lit('""'), f.lit('"'))).otherwise(name)


def _is_quoted(name: Column) -> Column:
    # Few names begin so, and a pattern costs more than this look.
    return name.startswith('"') & name.rlike(_QUOTED_NAME_PATTERN)


def fold_name(export: Export, name: Column) -> Column:
    """Return an SQL name of one part as the source stores it."""
    return f.when(_is_quoted(name), unquote_name(name)).otherwise(spell(export, name))


def parse_time(time: Column) -> Column:
    """Return a text as a timestamp, null if it is none; a zone may have no colon and stand after a space.

    Without a date it is none: Spark takes an hour for one of today.
    """
    text = f.regexp_replace(f.trim(time.cast("string")), " Z$", "Z")
    text = _replace_zone(f.regexp_replace(text, r" ?([+-]\d\d):?(\d\d)$", "$1:$2"))
    any_time = f.when(text.rlike(_DATE_PATTERN), f.try_to_timestamp(text))
    # Most times are such, and each of the patterns costs as much as this one.
    return f.when(time.rlike(_PLAIN_TIME_PATTERN), f.try_to_timestamp(time)).otherwise(any_time)


def _replace_zone(time: Column) -> Column:
    """Return a time with its offset in place of the abbreviation of its zone, null for an unknown one."""
    zone = f.regexp_extract(time, _ZONE_PATTERN, 1)
    offset_time = f.concat(f.regexp_replace(time, _ZONE_PATTERN, ""), f.try_element_at(f.expr(_OFFSETS_MAP), zone))
    return f.when(zone == "", time).otherwise(offset_time)


def normalize_word(name: Column | str) -> Column:
    """Return a word of a fixed vocabulary in capitals, with spaces for underscores."""
    word = f.upper(f.trim(f.coalesce(name, f.lit(""))))
    # To look for a letter costs less than to replace it, which most words need not.
    return f.when(word.contains("_"), f.replace(word, f.lit("_"), f.lit(" "))).otherwise(word)
