# SPDX-License-Identifier: Apache-2.0
# Thin: every target checks what it needs, then calls cmake or one tool.

PREFIX ?= /usr/local
WERROR ?= OFF

RELEASE := build/release
build := cmake --build --preset
# Ninja is quiet unless something fails, so that a program's output stands alone.
quiet := -- --quiet

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-asan test-tsan bench fuzz coverage lint format install clean program

help:
	@echo 'make run        replay the sample log through a limit'
	@echo 'make test       build the release and run all tests'
	@echo 'make test-all   the same, then under the address, undefined and thread sanitizers'
	@echo 'make bench      measure this machine'
	@echo 'make fuzz       run each fuzz target for some seconds (clang)'
	@echo 'make coverage   line and branch coverage of the tests'
	@echo 'make lint       format, static analysis, shell scripts, manual, spelling'
	@echo 'make format     format the C sources in place'
	@echo 'make install    install into PREFIX=$(PREFIX), below DESTDIR when set'
	@echo 'make clean      remove build/'

# Only what a user runs: no test tools are needed.  A tree that was configured
# with tests stays so.
program:
	@tools/install-deps build
	@test -f $(RELEASE)/CMakeCache.txt || cmake --preset release -DMETE_TESTS=OFF --log-level=WARNING
	@$(build) release --target mete_program $(quiet)

run: program
	@$(RELEASE)/mete replay examples/sample.log --limit "20/1m burst 10"

bench: program
	@$(RELEASE)/mete bench

test:
	@tools/install-deps test
	@cmake --preset release -DMETE_TESTS=ON -DMETE_WERROR=$(WERROR) --log-level=WARNING
	@$(build) release $(quiet)
	@ctest --preset release

test-asan test-tsan: test-%:
	@tools/install-deps test
	@cmake --preset $* --log-level=WARNING
	@$(build) $* $(quiet)
	@ctest --preset $*

test-all: test
	@$(MAKE) --no-print-directory test-asan
	@$(MAKE) --no-print-directory test-tsan

fuzz:
	@tools/install-deps fuzz
	@cmake --preset fuzz --log-level=WARNING
	@$(build) fuzz $(quiet)
	@ctest --preset fuzz

coverage:
	@tools/install-deps coverage
	@cmake --preset coverage --log-level=WARNING
	@$(build) coverage $(quiet)
	@ctest --preset coverage
	@gcovr --root . --filter src/ --print-summary --html-details build/coverage/index.html build/coverage

lint:
	@tools/install-deps lint
	@cmake --preset dev --log-level=WARNING
	@tools/lint build/dev

format:
	@tools/install-deps lint
	@tools/format

install:
	@tools/install-deps build
	@test -f $(RELEASE)/CMakeCache.txt || cmake --preset release -DMETE_TESTS=OFF --log-level=WARNING
	@$(build) release --target mete_program --target mete_static --target mete_shared $(quiet)
	@cmake --install $(RELEASE) --prefix $(PREFIX)

clean:
	@rm -rf build
