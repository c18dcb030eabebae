# SPDX-License-Identifier: Apache-2.0
#
# Programs that tests/store/run.d runs, each of one file, into $(BUILD)/tests/store.
# Included by the top-level Makefile; alone: make -f tests/store/store.mk store
ifndef LIB_INTERNAL
include user/lib/lib.mk
endif
ifndef MASTER_OBJ
include user/tools/dsmasterd.mk
endif

STORE_DIR	:= $(lib_out)/tests/store
store_bin	:= $(patsubst tests/store/%.cpp,$(STORE_DIR)/%,$(wildcard tests/store/*.cpp))

.PHONY: store
# Not in ALL: only tests need them.
test soak: store
store: $(store_bin) $(lib_out)/bin/dsmasterd

$(STORE_DIR)/%: tests/store/%.cpp $(LIB_INTERNAL) $(LIB_STD)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(LIB_CPPFLAGS) $(CPPFLAGS) -g1 -O2 -Wall -Wextra -Werror -MMD -MP -MF $@.d -MT $@ \
		$(LIB_SANFLAGS) $(LIB_STDFLAGS) $(CXXFLAGS) -o $@ $< $(LIB_INTERNAL) $(LDFLAGS) $(lib_nl) -lcmocka -lpthread

# It stands between the store and the fabric.
$(STORE_DIR)/slices: private LDFLAGS += -Wl,--wrap=ds_submit,--wrap=ds_buffer_alloc,--wrap=ds_buffer_free

-include $(store_bin:=.d)
