# Everything below starts from a bare clone and a system Python >= 3.10: `make demo`, `make test`.
# Settings:  make PYTHON=python3.12 …   make demo IMAGE=photo.jpg OUT=look.png   make test ARGS="-k add" JOBS=4

PYTHON ?= python3
JOBS   ?= 2
OUT    ?= demo.png
IMAGE  ?=
ARGS   ?=
SECONDS ?= 60
SEED   ?= 1
BIN    := .venv/bin

# Compiled tests are kept, whatever the environment says: to read and rewrite 360 files takes 15 s of each worker.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-rest test-long compat fuzz bench lint doctor coverage-page clean

# Develops a photograph with fused Slang functions and writes $(OUT).
demo:
	@$(PYTHON) tools/setup_venv.py demo
	@$(BIN)/python tools/setup_driver.py
	@$(BIN)/fusepy demo $(if $(IMAGE),"$(IMAGE)") -o "$(OUT)"

# worksteal: tests differ a lot in length, and a worker that has run dry takes some from the other.
test:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/python tools/setup_driver.py
	@$(BIN)/python tools/setup_browser.py
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

# What `make test` leaves out, with as few random examples: further types, sizes and ways of what it shows, but no long ones. CI runs both.
test-rest:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/python tools/setup_driver.py
	@$(BIN)/python tools/setup_browser.py
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "rest and not long" $(ARGS)

# Those and long tests, and random ones with all of their examples; lavapipe's kernels are optimised, as users have them.
test-long:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/python tools/setup_driver.py
	@$(BIN)/python tools/setup_browser.py
	@FUSEPY_HYPOTHESIS=thorough GALLIVM_PERF= $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "long or rest or random" $(ARGS)

# Random programs in every mode, held to NumPy; `make fuzz SECONDS=3600 SEED=7`, FUSEPY_DEVICE chooses the device. See docs/reliability.md.
fuzz:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/python tools/setup_driver.py
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) --jobs $(JOBS) $(ARGS)

# slangpy's own tests, as its wheel ships them, with changed imports: prints a table by file; 5 minutes on 2 cores. ARGS="--write docs/guide/slangpy.md" keeps it.
compat:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/python tools/setup_driver.py
	@$(BIN)/python -m tests.compat --jobs $(JOBS) $(ARGS)

bench:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/python tools/setup_driver.py
	@$(BIN)/python -m benchmarks $(ARGS)

lint:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright --pythonpath $(BIN)/python

# Says what is there and what is missing; installs no driver.
doctor:
	@$(PYTHON) tools/setup_venv.py demo
	@$(BIN)/fusepy doctor

# Writes docs/coverage.md from the marks of the tests; ARGS="--junit report.xml" counts only what passed in that run.
coverage-page:
	@$(PYTHON) tools/setup_venv.py demo dev
	@$(BIN)/python -m tests.coverage_page $(ARGS)

# Takes away everything that the targets above made.
clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .benchmarks demo.png demo-*.png
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
