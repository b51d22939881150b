# `make report` takes a clone to the results site; `make help` lists the rest.
# Set-up and running are in setup/, the workflow itself is the Snakefile.

CONFIG ?= config/config.yaml
CORES ?= all
PROFILE ?= default
REMOTE ?= origin
BRANCH ?= gh-pages
PORT ?= 8000
PYTHON ?= python3
export PYTHON

# Some of the tools want a home to keep caches in.
export HOME := $(if $(shell test -n "$$HOME" && test -w "$$HOME" && echo yes),$(HOME),$(CURDIR)/.venv/home)

python := .venv/bin/python
run := $(python) setup/workflow.py --cores $(CORES) --profile $(PROFILE)
packages := $(if $(filter default,$(PROFILE)),report,cluster)

.DEFAULT_GOAL := help
.PHONY: help report quick serve publish test lint bench lock clean environment test-environment cluster-environment

help: ## list the targets
	@echo "make TARGET [CONFIG=$(CONFIG)] [CORES=$(CORES)] [PROFILE=$(PROFILE)] [PYTHON=$(PYTHON)]"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 24

report: environment ## run the study and make the site in reports/_site/
	@$(run) --config $(CONFIG)

quick: environment ## the same with the small study of config/quick.yaml
	$(if $(filter command environment,$(origin CONFIG)),$(error make quick takes config/quick.yaml; for $(CONFIG): make report CONFIG=$(CONFIG)))
	@$(run) --config config/quick.yaml

serve: ## show the site at http://127.0.0.1:8000/ (PORT=8000)
	@$(firstword $(wildcard $(python)) $(PYTHON)) setup/serve.py $(PORT)

publish: ## push the site to a branch (REMOTE=origin BRANCH=gh-pages)
	@sh setup/environment.sh publish
	@$(python) -m attention_scaling publish --remote $(REMOTE) --branch $(BRANCH)

test: lint ## check the code and run all tests
	@$(python) -m pytest $(PYTEST)

lint: test-environment ## check style and format of Python and of the rules
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@.venv/bin/snakefmt --check Snakefile workflow/rules

bench: environment ## measure ratios of speed and memory, and what the studies cost
	@$(python) -m attention_scaling bench
	@$(python) setup/bench.py

lock: test-environment ## resolve the dependencies of pyproject.toml into lock/ again
	@$(python) setup/lock.py

environment: ## set .venv up for the report, and for a cluster where PROFILE is not default
	@sh setup/environment.sh $(packages)

test-environment: ## set .venv up for the tests
	@sh setup/environment.sh test

cluster-environment: ## set .venv up for clusters
	@sh setup/environment.sh cluster

clean: ## remove everything that make and Snakemake made
	@rm -rf .venv .snakemake results logs reports/_site reports/_site.* reports/_generated \
	    reports/_variables.yml reports/.quarto .pytest_cache .hypothesis .ruff_cache
	@find . -name .git -prune -o \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +
