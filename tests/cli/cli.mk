# SPDX-License-Identifier: Apache-2.0
# What tests of dsctl talk to. Included by the top-level Makefile.
ifndef LIB_INTERNAL
include user/lib/lib.mk
endif

CLI_SERVER	:= $(BUILD)/tests/cli/rdm_server

.PHONY: cli-tests
ALL	+= cli-tests
cli-tests: $(CLI_SERVER)

$(CLI_SERVER): tests/cli/rdm_server.cpp tests/unit/user_rdm_server.hpp $(LIB_INTERNAL)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -g1 -O2 $(lib_warn) -Itests/unit $(lib_cppflags) $(CXXFLAGS) -o $@ $< $(LIB_INTERNAL) $(lib_nl) -lpthread
