"""Policy authoring: documents, versions, lints, impact, import and export."""
