# The commands of the project. `make run` needs make, git and Python 3.11 with venv; `make test` installs or names the rest.

PORT ?= 8000
export PORT

.PHONY: help run check t test test-all test-clients goldens lint bench lock spark-matrix port-is-free

help:
	@echo "make run           everything in one terminal, at http://127.0.0.1:8000 (PORT chooses another port)"
	@echo "make check         in half a minute: format, lint, contracts, types, and the tests that need neither rows nor processes"
	@echo "make t             in a minute: the tests of what has changed since the upstream (or SINCE=COMMIT; WHOLE=1 for all of them)"
	@echo "make test          before a change lands: every check, the tests, and the newest clients, within a budget"
	@echo "make test-all      before a release: every test on SQLite and PostgreSQL, wide searches, every client"
	@echo "make test-clients  other people's programs against this site"
	@echo "make goldens       write down anew what users see of the product (tests/goldens)"
	@echo "make lint          the checks of make test that run nothing"
	@echo "make bench         the measurements; make bench profile (or another name of bench/README.md) this one alone"
	@echo "make spark-matrix  every report in PySpark 3.5 and 4, with Spark Connect, too: the tables have to be equal"
	@echo "make lock          resolve the dependencies of pyproject.toml anew"

# exec: a signal for make's child has to reach the program itself, not a shell that dies and leaves it behind.
run: port-is-free .venv/runtime.stamp
	@exec .venv/bin/python .make/run.py

test: .venv/development.stamp
	@SINCE="$(SINCE)" WHOLE="$(WHOLE)" exec .venv/bin/python .make/test.py

check: .venv/development.stamp
	@exec .venv/bin/python .make/test.py check

t: .venv/development.stamp
	@SINCE="$(SINCE)" WHOLE="$(WHOLE)" exec .venv/bin/python .make/test.py touched

test-all: .venv/development.stamp
	@exec .venv/bin/python .make/test.py everything

goldens: .venv/development.stamp
	@GOLDENS=write exec .venv/bin/python -m pytest -q tests/goldens

test-clients: .venv/development.stamp
	@exec .venv/bin/python .make/test.py clients

lint: .venv/development.stamp
	@SINCE="$(SINCE)" WHOLE="$(WHOLE)" exec .venv/bin/python .make/test.py lint

bench: .venv/development.stamp
	@exec .venv/bin/python -m bench $(MEASUREMENTS)

# In `make bench profile` the second goal is the name of a measurement, which needs nothing done.
ifeq (bench,$(firstword $(MAKECMDGOALS)))
MEASUREMENTS := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(MEASUREMENTS)
$(MEASUREMENTS):
	@:
endif

spark-matrix: .venv/development.stamp
	@exec .venv/bin/python .make/spark_matrix.py

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
