"""BigQuery: what its exports look like, what its privileges mean, and how access changes (docs/grants-exports.md)."""
