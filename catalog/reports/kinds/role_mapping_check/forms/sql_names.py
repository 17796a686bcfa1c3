"""Names and words as SQL and its catalogs write them, as columns."""

from pyspark.sql import Column
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR

#: One part of a name: quoted, with doubled quotation marks, or up to the next dot.
_NAME_PART_PATTERN = r'"((?:[^"]|"")*)"|([^."]+)'


def split_name(name: Column | str) -> Column:
    """Return the parts of an SQL name, unquoted and joined by SEPARATOR."""
    quoted_parts = f.regexp_extract_all(name, f.lit(_NAME_PART_PATTERN), f.lit(1))
    bare_parts = f.regexp_extract_all(name, f.lit(_NAME_PART_PATTERN), f.lit(2))
    name_parts = f.zip_with(
        quoted_parts,
        bare_parts,
        lambda quoted_part, bare_part: f.when(bare_part != "", bare_part).otherwise(
            f.replace(quoted_part, f.lit('""'), f.lit('"'))
        ),
    )
    return f.array_join(name_parts, SEPARATOR)


def normalize_word(name: str) -> Column:
    """Return a word of a fixed vocabulary in capitals, with spaces for underscores."""
    return f.translate(f.upper(f.trim(f.coalesce(name, f.lit("")))), "_", " ")
