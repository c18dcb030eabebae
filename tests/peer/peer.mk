# SPDX-License-Identifier: Apache-2.0
#
# Builds dspeer, the test peer, and what runs it into $(BUILD)/tests. Included
# by the top-level Makefile; tests/peer/run.d runs it in virtual machines.
ifndef LIB_INTERNAL
include user/lib/lib.mk
endif

PEER_BIN	:= $(BUILD)/tests/dspeer
peer_obj	:= $(patsubst tests/peer/%.cpp,$(BUILD)/obj/peer/%.o,$(wildcard tests/peer/*.cpp))
peer_sh		:= $(patsubst %,$(BUILD)/%,$(wildcard tests/peer/*.sh))

.PHONY: peer
# Not in ALL: only tests need OpenSSL.
test soak: peer
peer: $(PEER_BIN) $(peer_sh)

$(BUILD)/obj/peer/%.o: tests/peer/%.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(LIB_CPPFLAGS) -Ikernel $(CPPFLAGS) -g1 -O2 -Wall -Wextra -Werror -MMD -MP \
		$(CXXFLAGS) -c -o $@ $<

$(PEER_BIN): $(peer_obj) $(LIB_INTERNAL)
	@mkdir -p $(@D)
	$(CXX) $(LDFLAGS) -o $@ $^ $(lib_nl) -lrdmacm -libverbs -lcrypto -lpthread

$(peer_sh): $(BUILD)/%: %
	@mkdir -p $(@D)
	install -m 755 $< $@

-include $(peer_obj:.o=.d)
