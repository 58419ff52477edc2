# The targets a user types; the work is CMake's (CMakePresets.json) and scripts/'s.
JOBS ?= $(shell nproc)

.PHONY: build setup demo test test-long test-clang test-san fuzz clean

build: build/build.ninja
	cmake --build build -j $(JOBS)

# Ninja runs CMake again when a list changes; here it runs the first time only.
build/build.ninja: | setup
	cmake --preset release

setup:
	@scripts/setup.sh

demo: build
	scripts/demo.sh

test: build
	ctest --preset release -j $(JOBS)

test-long: build
	ctest --preset long -j $(JOBS)

test-clang: setup
	cmake --preset ci
	cmake --build --preset ci -j $(JOBS)
	ctest --preset ci -j $(JOBS)

test-san: setup
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(JOBS)

fuzz: setup
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)

clean:
	rm -rf build build-ci build-san build-fuzz
