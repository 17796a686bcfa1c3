# The commands of the project. `make run` needs make, git and Python 3.11 with venv; `make test` installs or names the rest.

PORT ?= 8000
export PORT

.PHONY: help run test test-clients lint bench lock port-is-free

help:
	@echo "make run           everything in one terminal, at http://127.0.0.1:8000 (PORT chooses another port)"
	@echo "make test          format, lint, types, contracts, migrations, and the tests on SQLite and PostgreSQL"
	@echo "make test-clients  other people's programs against this site"
	@echo "make lint          the checks of make test that run nothing"
	@echo "make bench         the measurements"
	@echo "make lock          resolve the dependencies of pyproject.toml anew"

# exec: a signal for make's child has to reach the program itself, not a shell that dies and leaves it behind.
run: port-is-free .venv/runtime.stamp
	@exec .venv/bin/python .make/run.py

test: .venv/development.stamp
	@exec .venv/bin/python .make/test.py

test-clients: .venv/development.stamp
	@exec .venv/bin/python .make/test.py clients

lint: .venv/development.stamp
	@exec .venv/bin/python .make/test.py lint

bench: .venv/development.stamp
	@exec .venv/bin/python -m bench

lock: .venv/development.stamp
	@exec .make/lock

port-is-free:
	@.make/python .make/port.py "$(PORT)"

.venv/runtime.stamp: requirements.lock
	@.make/venv requirements.lock
	@touch $@

.venv/development.stamp: requirements-dev.lock
	@.make/venv requirements-dev.lock
	@touch $@ .venv/runtime.stamp
