# The targets a user types; the work is CMake's (CMakePresets.json) and scripts/'s.
JOBS ?= $(shell nproc)

.PHONY: build setup demo test test-long test-clang test-cuda test-report test-python wheel test-san fuzz format lint analyze clean

# Ninja runs CMake again when a list changes; here it runs where the tests are not configured yet, as after `make demo`.
build: setup
	@[ -e build/build.ninja ] && grep -qs '^ISOMER_TESTS:BOOL=ON' build/CMakeCache.txt || cmake --preset release
	cmake --build build -j $(JOBS)

setup:
	@scripts/setup.sh program tests

# Installs, builds and runs no more than it needs.
demo:
	@JOBS=$(JOBS) scripts/demo.sh

test: build
	ctest --preset release -j $(JOBS)

test-long: build
	ctest --preset long -j $(JOBS)

test-clang: setup
	cmake --preset ci
	cmake --build --preset ci -j $(JOBS)
	ctest --preset ci -j $(JOBS)

# All of the tests of CUDA code that need no GPU, with NVIDIA's compiler from PyPI: there those that need it don't skip.
test-cuda: build
	@scripts/setup.sh python
	[ -x build/python/bin/pip ] || python3 -m venv --clear build/python
	build/python/bin/pip install --quiet --no-deps nvidia-cuda-nvrtc==13.0.88
	PATH="$(CURDIR)/build/python/bin:$$PATH" ISOMER_TEST_NVRTC=1 ctest --preset long -R '^cuda_' -j $(JOBS)

# Reports in a headless browser.
test-report: build
	@scripts/setup.sh browser
	scripts/test_report.py resnet18 squeezenet1_1

# The Python package, and ONNX's own backend tests against it.
test-python: build
	@scripts/setup.sh python
	scripts/test_python.sh

# Of this machine's Python, for others: build-python/wheels.
wheel:
	@scripts/setup.sh program portable python
	scripts/make_wheel.sh

test-san: setup
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(JOBS)

fuzz: setup
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)

format:
	@scripts/setup.sh lint
	git ls-files -z '*.cpp' '*.h' '*.c' | xargs -0 clang-format-19 -i

lint: build
	@scripts/setup.sh lint
	@JOBS=$(JOBS) scripts/lint.sh

analyze: build
	@scripts/setup.sh lint
	@JOBS=$(JOBS) scripts/lint.sh analyze

clean:
	rm -rf build build-ci build-san build-fuzz build-portable
