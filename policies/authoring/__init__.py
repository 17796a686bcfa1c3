"""Writing policies: documents, versions, lints, impact, import and export."""
