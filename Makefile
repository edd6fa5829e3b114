# Two commands: `make reproduce` ends in an audited verdict, `make test` runs every check.
#
# TORCH        the torch to install first, so that pip does not choose a CUDA build for a CPU machine
# TORCH_INDEX  index to take it from; on x86-64 Linux, PyPI's torch brings CUDA, PyTorch's CPU index does not:
#              make reproduce TORCH_INDEX=https://download.pytorch.org/whl/cpu
# PROFILE      what `make reproduce` runs
# PYTHON       the interpreter that makes .venv (3.11 or later)

TORCH ?= torch==2.13.0
TORCH_INDEX ?=
PROFILE ?= params/cpu-decider.toml
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

BIN := .venv/bin
PIP := --quiet --no-compile  # Python compiles what is imported, a small part of what is installed
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile -p no:nbval  # which takes two seconds to load, in every process
INSTALLED := .venv/.installed
TEST_RUN := test-pipeline

# Parts of `make test` that run at a time, where make can keep their outputs apart (4.0 or later)
SIDE_BY_SIDE := $(if $(filter output-sync,$(.FEATURES)),--jobs=2 --output-sync=target)

.PHONY: reproduce test checks lint types unit campaign pipeline nbval lab store-outputs clean
.DELETE_ON_ERROR:

reproduce: $(INSTALLED)
	@$(BIN)/python -m kit run $(PROFILE)

# The campaign runs on one thread for the most part, so the unit tests run beside it. What a part prints is shown
# when it ends, and a part that fails stops those that need it and no other.
test: $(INSTALLED)
	@echo "two parts at a time; each is shown when it ends, minutes from now"
	@$(MAKE) --no-print-directory --keep-going $(SIDE_BY_SIDE) checks

checks: lint types pipeline nbval unit

$(INSTALLED): pyproject.toml Makefile
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; name one: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$(TORCH)"
	$(BIN)/python -m pip install $(PIP) --editable ".[notebook,test]"
	@touch $@

lint: $(INSTALLED)
	$(BIN)/ruff check .

types: $(INSTALLED)
	$(BIN)/mypy

unit: $(INSTALLED)
	$(PYTEST) tests --ignore=tests/pipeline

campaign: $(INSTALLED)
	$(BIN)/python -m kit run params/cpu-tiny.toml --id $(TEST_RUN) --replace

pipeline: campaign
	KIT_RUN=$(TEST_RUN) $(PYTEST) tests/pipeline

# Verdict cells only; the stages find their work done in the finished run and read it. 04_remote is no stage of
# this profile: tests/pipeline/test_remote_run.py runs it, against a server of its own.
nbval: campaign
	KIT_RUN=$(TEST_RUN) $(BIN)/python -m pytest --nbval-lax --nbval-cell-timeout=240 --nbval-kernel-startup-timeout=120 \
		-p no:cacheprovider --timeout=600 --ignore=notebooks/04_remote.ipynb notebooks

lab: $(INSTALLED)
	$(BIN)/jupyter lab --notebook-dir=notebooks

# For maintainers: copy the verdict cells' outputs of run RUN into the notebooks nbval compares with.
store-outputs: $(INSTALLED)
	$(BIN)/python -m kit.campaign.stored_outputs $(RUN)

clean:
	rm -rf .venv .cache build *.egg-info
