# SPDX-License-Identifier: Apache-2.0
# Thin: every target checks what it needs, then calls cmake or one tool.

PREFIX ?= /usr/local
WERROR ?= OFF

SHELL := bash
.SHELLFLAGS := -o pipefail -c

RELEASE := build/release
# Silent unless something fails, and then on standard error: what a target prints
# is what its program or its tests say.
configure = cmake --preset $(1) --log-level=WARNING >/dev/null
build = cmake --build --preset $(1) -- --quiet 2>&1 | sed '/^ninja: no work to do\.$$/d' >&2

.DEFAULT_GOAL := help
.PHONY: help run replay test test-all test-asan test-tsan test-clients bench bench-serve fuzz coverage lint format install clean program

help:
	@echo 'make run        build, and serve the sample policies until Ctrl-C'
	@echo 'make replay     replay the sample log through a limit'
	@echo 'make test       build the release and run all tests'
	@echo 'make test-all   the same, then under the address, undefined and thread sanitizers'
	@echo 'make test-clients  clients and gateways of other projects against the daemon'
	@echo 'make bench      measure this machine'
	@echo 'make bench-serve  measure the daemon side by side with redis-server and nginx'
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
	@test -x $(RELEASE)/mete || echo 'building mete, once: this takes a while ...' >&2
	@test -f $(RELEASE)/CMakeCache.txt || $(call configure,release -DMETE_TESTS=OFF)
	@$(call build,release --target mete_program)

run: program
	@$(RELEASE)/mete serve --config examples/mete.yaml --store memory --hints

replay: program
	@$(RELEASE)/mete replay examples/sample.log --limit "20/1m burst 10"

bench: program
	@$(RELEASE)/mete bench --replay examples/sample.log

# ARGS="--rounds 1 --only resp" and others: bench/serve/compare.py --help
bench-serve:
	@tools/install-deps bench
	@test -f $(RELEASE)/CMakeCache.txt || $(call configure,release -DMETE_TESTS=OFF)
	@$(call build,release --target mete_program mete_load mete_echo)
	@bench/serve/compare.py --build $(RELEASE) $(ARGS)

test:
	@tools/install-deps test
	@$(call configure,release -DMETE_TESTS=ON -DMETE_WERROR=$(WERROR))
	@$(call build,release)
	@ctest --preset release

test-asan test-tsan: test-%:
	@tools/install-deps test
	@$(call configure,$*)
	@$(call build,$*)
	@ctest --preset $*

test-all: test
	@$(MAKE) --no-print-directory test-asan
	@$(MAKE) --no-print-directory test-tsan

# SUITES="go-redis gateways" and others: tests/clients/run
test-clients: program
	@tools/install-deps clients
	@tests/clients/run $(SUITES)

fuzz:
	@tools/install-deps fuzz
	@$(call configure,fuzz)
	@$(call build,fuzz)
	@ctest --preset fuzz

coverage:
	@tools/install-deps coverage
	@$(call configure,coverage)
	@$(call build,coverage)
	@ctest --preset coverage
	@gcovr --root . --filter src/ --exclude-directories '.*/mete_interleaved\.dir$$' \
		--print-summary --html-details build/coverage/index.html build/coverage

lint:
	@tools/install-deps lint
	@$(call configure,dev)
	@tools/lint build/dev

format:
	@tools/install-deps lint
	@tools/format

install:
	@tools/install-deps build
	@test -f $(RELEASE)/CMakeCache.txt || $(call configure,release -DMETE_TESTS=OFF)
	@$(call build,release --target mete_program mete_static mete_shared)
	@cmake --install $(RELEASE) --prefix $(PREFIX)

clean:
	@rm -rf build
