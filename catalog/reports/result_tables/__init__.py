"""Results of reports as open tables of Parquet files, which other programs read (docs/result-tables.md)."""
