"""Tests of policies as code: decision tables and assertions from files, answered without a server and a database."""
