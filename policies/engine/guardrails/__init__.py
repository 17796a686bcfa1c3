"""Guardrails: rules above policies, read from documents (`rules`) and judged (`breaches`), docs/adr/0032."""
