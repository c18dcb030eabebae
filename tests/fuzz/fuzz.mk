# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzzers of the portable core, and of the simulator's traces, into $(BUILD)/fuzz, what they
# fuzz and all by clang.
# Included by the top-level Makefile; alone:
#
#   make -f tests/fuzz/fuzz.mk fuzz
BUILD		?= build
FUZZ_BIN	:= $(BUILD)/fuzz
fuzz_flags	:= -std=gnu11 -g -O2 -Wall -Wextra -Werror -Iinclude/uapi -Ikernel -fno-omit-frame-pointer
fuzz_san	:= -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz_codec	:= kernel/rdm/packet1.c kernel/rdm/packet2.c
fuzz_headers	= $(wildcard kernel/*.h kernel/rdm/*.h include/uapi/ds/*.h)

.PHONY: fuzz
# Not in ALL: only tests need clang.
test soak: fuzz
fuzz: $(addprefix $(FUZZ_BIN)/,parse_fuzz serve_fuzz trace_fuzz seeds)

$(FUZZ_BIN)/parse_fuzz: tests/fuzz/parse_fuzz.c $(fuzz_codec) $(fuzz_headers)
	@mkdir -p $(@D)
	clang-14 $(fuzz_flags) $(fuzz_san) -o $@ $(filter %.c,$^)

fuzz_core	:= $(patsubst %,kernel/rdm/%.c,serve session packet_space vspace buddy vrange segtable pagemap)
$(FUZZ_BIN)/serve_fuzz: tests/fuzz/serve_fuzz.c $(fuzz_codec) $(fuzz_core) $(fuzz_headers)
	@mkdir -p $(@D)
	clang-14 $(fuzz_flags) $(fuzz_san) -o $@ $(filter %.c,$^)

fuzz_trace	:= $(patsubst %,user/lib/%.cpp,abi/errors sim/trace sim/decode_text sim/decode_binary sim/guess sim/source sim/unpack sim/foreign)
$(FUZZ_BIN)/trace_fuzz: tests/fuzz/trace_fuzz.cpp $(fuzz_trace) $(wildcard user/lib/sim/*.hpp user/lib/include/ds/*.hpp)
	@mkdir -p $(@D)
	clang++-14 -std=c++20 -Iuser/lib -Iuser/lib/include $(filter-out -std=%,$(fuzz_flags)) $(fuzz_san) -o $@ $(filter %.cpp,$^) -lz -llzma -lzstd

$(FUZZ_BIN)/seeds: tests/fuzz/seeds.c $(fuzz_codec) $(fuzz_headers)
	@mkdir -p $(@D)
	clang-14 $(fuzz_flags) -o $@ $(filter %.c,$^)
