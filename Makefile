# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH ?= torch>=2.11,<2.14

.PHONY: help install demo test check format docs bench clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed  ## make .venv and install Stretto with what its development needs

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "$(TORCH)"
	$(BIN)/pip install --quiet --editable ".[dev]"
	@touch $@

demo: install  ## train a small ResNet with two workers, and see what happened
	@$(BIN)/python examples/demo.py

test: install  ## run all tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: install  ## lint, types, import contracts, generated documents
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/map.py --check
	$(BIN)/python tools/reference.py --check
	$(BIN)/python tools/command_line.py --check
	$(BIN)/python tools/shape.py

format: install  ## lay the code out and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install  ## write the generated documents anew
	$(BIN)/python tools/map.py
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/command_line.py

bench: install  ## run every benchmark
	@for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

clean:  ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis build dist
