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

# The simulator is no part of the core.
$(BUILD)/bench/tiers: bench/native/tiers.cpp $(LIB_SIM) $(LIB_INTERNAL)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(CXXFLAGS) $(LIB_CPPFLAGS) -Iuser/lib -MMD -MP -MF $@.d -MT $@ -o $@ $< $(LIB_SIM) $(LIB_INTERNAL) $(SIM_LIBS) -lpthread

# Tokens beside the kernel's xarray. No part of `bench`: the source is a package that
# only this one needs.
tokencache_dir	:= bench/native/tokencache
tokencache_out	:= $(BUILD)/bench/tokencache.d
tokencache_o	:= $(patsubst $(tokencache_dir)/%.c,$(tokencache_out)/%.o,$(wildcard $(tokencache_dir)/*.c))

$(BUILD)/bench/tokencache: $(tokencache_dir)/main.cpp $(tokencache_o) $(LIB_CORE)
	$(CXX) $(CXXFLAGS) -Iinclude/uapi -Ikernel -MMD -MP -MF $(tokencache_out)/main.d -MT $@ -o $@ $< \
		$(tokencache_o) $(LIB_CORE) -Wl,--wrap=calloc -lpthread

$(tokencache_out)/%.o: $(tokencache_dir)/%.c $(tokencache_dir)/source
	@mkdir -p $(@D)
	linux=$$($(tokencache_dir)/source) && \
	$(CC) -std=gnu11 $(CFLAGS) -include $(tokencache_dir)/kernel.h -isystem "$$linux/include" -isystem "$$linux" \
		-MMD -MP -c -o $@ $<

-include $(BENCH_NATIVE:=.d) $(tokencache_out)/main.d $(tokencache_o:.o=.d)
