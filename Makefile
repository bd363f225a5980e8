# Everything starts here: `make help`. Needs Python 3.11+, Java 17+ and Maven; no Docker.

PYTHON ?= python3
VENV := .venv/bin
SPREAD := --dist loadfile --no-loadscope-reorder

# Tests and commands start hundreds of processes: what was compiled once stays so.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-flink setup-mutants setup-yarn test-yarn lock fmt lint type test test-unit checks test-dags test-jvm test-spark test-stack test-live test-airflow test-chaos nightly docs images test-containers test-ui demo up down status clean bench coverage

help:  ## show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## install what is needed (nothing the second time)
	@$(PYTHON) -m infra.setup

setup-flink:  ## install Flink, for benchmarks, probes and audits, in an environment of its own
	@$(PYTHON) -m infra.setup --only uv flink

setup-mutants:  ## install what makes mutants of the engine, in an environment of its own
	@$(PYTHON) -m infra.setup --only uv mutants

setup-yarn: setup  ## install HDFS and YARN, for `slackwater up --stack yarn`
	@$(PYTHON) -m infra.setup --only hadoop

lock:  ## resolve the requirements again: versions and hashes
	@$(PYTHON) -m infra.setup --lock

fmt: setup  ## format the code and sort the imports
	@$(VENV)/ruff check --select I --fix .
	@$(VENV)/ruff format .

lint: setup  ## look for mistakes, wrong format, forbidden imports and dead definitions
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/lint-imports
	@$(VENV)/vulture

type: setup  ## check the types
	@$(VENV)/mypy

# Types beside the tests on two cores: each waits now and then.
test: setup  ## tier 1: all checks, and all tests that start no JVM and no command of ours
	@$(MAKE) --no-print-directory -k -j2 test-unit checks

test-unit:
	@$(VENV)/python -m pytest -n 2 $(SPREAD) tests/unit --durations=15

checks:
	@log=$$(mktemp); $(MAKE) --no-print-directory -k lint type >$$log 2>&1; code=$$?; cat $$log; rm $$log; exit $$code

# The DAGs' tests wait most of the time.
test-spark: setup  ## tier 2: real Spark, a real broker, commands as processes, DAGs without services
	@$(MAKE) --no-print-directory -k -j2 test-jvm test-dags

test-jvm:
	@$(VENV)/python -m pytest -n 2 $(SPREAD) tests/spark tests/commands --durations=15

test-dags: setup  ## of tier 2: the DAGs, in Airflow's own environment
	@log=$$(mktemp); .slackwater/airflow-venv/bin/python -m pytest -m "not stack" tests/dags --durations=5 >$$log 2>&1; code=$$?; \
	  cat $$log; rm $$log; exit $$code

test-stack: setup  ## tier 3: the demo, jobs on a cluster, Airflow, real kills, pages, containers
	@$(MAKE) --no-print-directory demo down
	@$(MAKE) --no-print-directory test-live test-airflow test-chaos test-ui down
	@$(MAKE) --no-print-directory test-containers

test-live: setup  ## of tier 3: jobs and faults on a real cluster
	@$(VENV)/python -m pytest -n 2 $(SPREAD) tests/stack --ignore=tests/stack/ui --ignore=tests/stack/containers --durations=10

test-airflow: setup  ## of tier 3: the DAGs on a real Airflow
	@.slackwater/airflow-venv/bin/python -m pytest -m stack tests/dags --durations=5

test-chaos: setup  ## of tier 3: six kinds of faults on a real job, some three minutes
	@$(VENV)/slackwater chaos run chaos/plans/first.yml --seed 1

test-yarn: setup-yarn  ## a job on YARN, all its data on HDFS, and each of their daemons killed, some fifteen minutes
	@$(VENV)/python -m pytest tests/night/test_hdfs.py tests/night/test_yarn.py --durations=5
	@$(VENV)/slackwater chaos run chaos/plans/yarn/*.yml --seed 1 --stack yarn

nightly: setup setup-yarn setup-flink setup-mutants  ## all that takes hours, or PARTS="simulate plan:kills" of it; verdicts into docs/nightly
	@infra/missing-packages strace=strace
	@$(VENV)/slackwater chaos nightly $(PARTS)

docs: setup  ## write what is written by commands: docs/commands.md, and which evidence of the nights is outdated
	@$(VENV)/python -m typer slackwater.main utils docs --name slackwater --title Commands > docs/commands.md
	@$(VENV)/slackwater chaos nightly --page

images: setup  ## what test-containers needs: a Docker engine, installed and started where that is allowed, and images
	@if $(VENV)/python -m infra.containers start; then infra/images/build kafka postgres spark; fi

# An engine that answers is used and left alone; one that was started for the tests is stopped.
test-containers: images  ## of tier 3: tests in containers
	@$(VENV)/python -m pytest tests/stack/containers; code=$$?; \
	  $(VENV)/python -m infra.containers stop; exit $$code

test-ui: setup  ## of tier 3: the pages that people look at, in a real browser (Debian: chromium, chromium-driver)
	@$(VENV)/python -m pytest tests/stack/ui

demo: setup  ## the whole platform on real flights: start, publish, run, break, verify
	@$(VENV)/slackwater demo

up: setup  ## start Kafka, Spark and Airflow on this machine
	@$(VENV)/slackwater up

# Stopping installs nothing, and works when the command itself is broken.
down:  ## stop all of it; data stays
	@test ! -x $(VENV)/python || $(VENV)/python -m infra down

status: setup  ## show what runs, where, and since when
	@$(VENV)/slackwater status

clean: down  ## stop all of it and delete its data; what is installed stays
	@test ! -x $(VENV)/python || $(VENV)/python -m infra clean

coverage: setup  ## which lines and branches of the runtime simulated runs do not reach
	@$(VENV)/coverage run -m slackwater.main chaos simulate --runs 2000 --seed 1 --jobs 1
	@$(VENV)/coverage report

bench: setup setup-flink  ## compare with Spark, Flink, DuckDB and operators by hand, into benchmarks/
	@$(VENV)/python -m benchmarks.spark
	@$(VENV)/python -m benchmarks.policies
	@$(VENV)/python -m benchmarks.lines
