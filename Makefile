# SPDX-License-Identifier: Apache-2.0
#
# DS: one makefile for all of it. `make help` says what there is.
#
# Parts bring fragments, which say how their files are built: user/*/*.mk,
# tests/*/*.mk and bench/*.mk. A fragment adds what a plain `make` shall build
# to ALL, and uses the variables below. Tests are found, not listed: each
# executable in a folder tests/*/run.d is a test program (see tests/run).

# A space is the end of a name to make and to kbuild.
ifneq ($(word 2,$(CURDIR)),)
$(error make and kbuild cannot work in a folder with a space in its path: move '$(CURDIR)')
endif

BUILD	:= build
SERIES	:= 6.1 6.12
PREFIX	?= /usr/local

CC	:= gcc
CXX	:= g++
CPPFLAGS := -Iinclude/uapi -Iuser/lib/include
# Lines for a stack, in three quarters of the time of -g; for a debugger: `make CFLAGS=-g CXXFLAGS=-g`.
CFLAGS	:= -O2 -g1 -Wall -Wextra -Werror
CXXFLAGS := -std=c++20 -O2 -g1 -Wall -Wextra -Werror

# With -n and -q, which bash uses to complete words of `make`, nothing may change.
dry	:= $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))$(findstring q,$(filter-out --%,$(firstword -$(MAKEFLAGS))))

# One job for each processor, unless the caller says how many.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
# What is made is not cleaned away at the same time.
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all modules demo test bench soak install uninstall deb clean lint tidy help

# Install what is missing before the fragments ask pkg-config for it; nothing for a word that is no goal.
fragments	:= $(wildcard user/*/*.mk) $(wildcard tests/*/*.mk) $(wildcard bench/*.mk)
known		:= $(shell sed -n 's/^\.PHONY://p' Makefile $(fragments)) $(BUILD)/%
deps_all	:= build
deps_test	:= vm test lint
deps_demo	:= vm
deps_bench	:= vm bench
deps_soak	:= vm test
deps_lint	:= lint
deps_tidy	:= tidy
deps_deb	:= deb
goals		:= $(filter-out clean help uninstall,$(or $(MAKECMDGOALS),all))
ifneq ($(if $(dry)$(filter-out $(known),$(goals)),,$(goals)),)
deps		:= $(sort build $(foreach goal,$(goals),$(deps_$(goal))))
ifneq ($(shell scripts/deps $(deps) >&2 && echo done),done)
$(error packages are missing; see above)
endif
endif

ALL	:= modules
include $(fragments)
ALL	+= lib dsctl man

all: $(ALL)

# ds.ko for each kernel, built from one source in a folder of links: kbuild
# writes its objects beside what it takes for the source.
kernel_files := $(shell find kernel include/uapi -type f ! -name '.*')
modules: $(SERIES:%=$(BUILD)/kernel-%/ds.ko)

# Of a kernel that was unpacked since: its headers are older than any object.
kernel_cache := $(or $(DS_CACHE),$(or $(HOME),/root)/.cache/ds)/kernels
$(foreach one,$(SERIES),$(eval $(BUILD)/kernel-$(one)/ds.ko: $(wildcard $(kernel_cache)/$(one)/release)))

$(BUILD)/kernel-%/ds.ko: $(kernel_files) scripts/build-module
	$(if $(dry),,+)scripts/build-module $* $(@D)

demo: all
	scripts/demo

TESTS	?= $(sort $(wildcard tests/*/run.d/*))
# As many at a time as there is room for with three machines each, at most three.
LANES	?= $(shell awk '/^MemAvailable/ { print ($$2 > 16000000 ? 3 : $$2 > 8000000 ? 2 : 1) }' /proc/meminfo)
test: all unit
	tests/run --lanes $(LANES) $(TESTS)

# Recorded traces lie beside this folder in some places. Without them this is empty, and what needs them is left out.
bench test: export DS_TRACES ?= $(abspath $(wildcard ../shared/traces/.))

bench: all
	bench/run $(BENCH)

soak: all unit
	tests/soak $(SOAK)

lint:
	tests/run scripts/lint

tidy:
	scripts/tidy

install: all install-lib install-man
	INSTALLED="$(lib_installed) $(man_installed)" scripts/install "$(DESTDIR)" "$(PREFIX)" $(BUILD) $(SERIES)

uninstall:
	scripts/uninstall "$(DESTDIR)" "$(PREFIX)"

deb:
	scripts/deb $(BUILD)/deb $(SERIES)

clean:
	rm -rf $(BUILD)

help:
	@echo 'make            build ds.ko for Linux $(SERIES), the library and the programs into $(BUILD)/'
	@echo 'make demo       build, then show what DS does, in three virtual machines'
	@echo 'make test       build, then run all tests; TESTS="FILE..." runs only these'
	@echo 'make bench      measure; BENCH=name runs one benchmark; rows go to $(BUILD)/bench.jsonl'
	@echo 'make soak       run the long tests; SOAK=name runs one'
	@echo 'make lint       checkpatch, sparse, W=1, shellcheck, clang-format'
	@echo 'make tidy       clang-tidy; takes minutes'
	@echo 'make install    into PREFIX ($(PREFIX)), below DESTDIR'
	@echo 'make uninstall  remove what make install has put there, by its manifest'
	@echo 'make deb        Debian packages into $(BUILD)/deb: ds-dkms, libdsuser0, libdsuser-dev, dsctl, dsmasterd'
	@echo 'make clean      remove $(BUILD)/'
	@echo 'Each of them installs the Debian packages that it needs and that are missing.'
	@echo 'Kernels and test images are kept in $${DS_CACHE:-~/.cache/ds}.'
