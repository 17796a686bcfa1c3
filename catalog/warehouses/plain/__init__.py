"""The plain form: CSV that anybody can write, for systems without layouts of their own (docs/grants-exports.md)."""
