# SPDX-License-Identifier: Apache-2.0
#
# Programs of ours that scenarios run in the machines. Included by the
# top-level Makefile.
e2e_out	:= $(BUILD)/tests/e2e

.PHONY: e2e
ALL	+= e2e
e2e: $(e2e_out)/unlock_race

$(e2e_out)/%: tests/e2e/%.cpp $(LIB_SO) $(wildcard user/lib/include/ds/*)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(LIB_CPPFLAGS) -o $@ $< $(LIB_SO) -Wl,-rpath,'$$ORIGIN/../../lib'
