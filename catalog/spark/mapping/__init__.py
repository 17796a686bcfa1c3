"""What source systems really grant, against what the catalog says of external roles (docs/grants-exports.md)."""
