"""Guardrails in the browser: list, editor, what breaks one."""
