# SPDX-License-Identifier: Apache-2.0
# Programs that measure without a machine: bench/native. Included by the top-level Makefile.
ifndef LIB_CORE
include user/lib/lib.mk
endif

BENCH_NATIVE	:= $(patsubst bench/native/%.cpp,$(BUILD)/bench/%,$(wildcard bench/native/*.cpp))

bench: $(BENCH_NATIVE)

$(BUILD)/bench/%: bench/native/%.cpp $(LIB_CORE)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -Iinclude/uapi -Ikernel -MMD -MP -MF $@.d -MT $@ -o $@ $< $(LIB_CORE) -lpthread

-include $(BENCH_NATIVE:=.d)
