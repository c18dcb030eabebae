# SPDX-License-Identifier: Apache-2.0
#
# Test programs of the tree, on the local fabric. Included by the top-level
# Makefile; alone:
#
#   make -f tests/tree/tree.mk tree-tests
#
# SAN=address,undefined builds them, and what they test, with sanitizers.
ifndef LIB_INTERNAL
include user/lib/lib.mk
endif

TREE_DIR	:= $(BUILD)/tests/tree$(if $(SAN),-$(SAN))
tree_bin	:= $(addprefix $(TREE_DIR)/,bulk clients crashes clients-no-crc clients-no-version)
tree_build	= $(CXX) -std=c++20 -Iuser/lib $(LIB_CPPFLAGS) -Ikernel $(CPPFLAGS) -g1 -O2 -Wall -Wextra -Werror \
	$(LIB_SANFLAGS) $(LIB_STDFLAGS) $(CXXFLAGS) -o $@ $(filter %.cpp %.a,$^) $(LDFLAGS) $(lib_nl)
tree_headers	:= $(wildcard tests/tree/*.hpp user/lib/btree/*.hpp)

.PHONY: tree-tests
test: tree-tests
tree-tests: $(tree_bin)

$(TREE_DIR)/bulk $(TREE_DIR)/crashes: $(TREE_DIR)/%: tests/tree/%.cpp $(tree_headers) $(LIB_INTERNAL) $(LIB_STD)
	@mkdir -p $(@D)
	$(tree_build)

$(TREE_DIR)/clients: tests/tree/clients.cpp tests/tree/history.cpp $(tree_headers) $(LIB_INTERNAL) $(LIB_STD)
	@mkdir -p $(@D)
	$(tree_build)

# With a check of the node left out, to see that the checker of histories notices.
$(TREE_DIR)/clients-no-crc: tree_flags := -DDS_TREE_CHECK_CRC=false
$(TREE_DIR)/clients-no-version: tree_flags := -DDS_TREE_CHECK_VERSION=false
$(TREE_DIR)/clients-no-crc $(TREE_DIR)/clients-no-version: tests/tree/clients.cpp tests/tree/history.cpp \
		user/lib/btree/node.cpp $(tree_headers) $(LIB_INTERNAL) $(LIB_STD)
	@mkdir -p $(@D)
	$(tree_build) $(tree_flags)
