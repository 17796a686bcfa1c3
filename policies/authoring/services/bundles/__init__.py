"""Policies as code: a folder of YAML files, one for each entry, compared with what is stored (docs/adr/0033).

the registry `bundle_kinds` names the kinds of entries: guardrails, roles, policies, and assertions of reports.
"""
