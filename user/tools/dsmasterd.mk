# SPDX-License-Identifier: Apache-2.0
# dsmasterd, the master of the object store. Included by the top-level Makefile; also works alone:
#   make -f user/tools/dsmasterd.mk dsmasterd
ifndef LIB_INTERNAL
include user/lib/lib.mk
endif
DS_VERSION ?= 0.1.0

MASTER_OBJ := $(patsubst user/tools/%.cpp,$(lib_out)/obj/tools/%.o,$(wildcard user/tools/dsmasterd/*.cpp))
MASTER_CPPFLAGS = -Iuser/lib $(LIB_CPPFLAGS) -Ikernel -Iuser/tools/dsmasterd -DDS_VERSION='"$(DS_VERSION)"'
MASTER_LIBS = $(shell pkg-config --libs libnl-genl-3.0 sqlite3)

.PHONY: dsmasterd
dsmasterd: $(lib_out)/bin/dsmasterd
ALL += dsmasterd

$(lib_out)/bin/dsmasterd: $(MASTER_OBJ) $(LIB_INTERNAL)
	@mkdir -p $(@D)
	$(CXX) $(LIB_SANFLAGS) $(LDFLAGS) -o $@ $^ $(MASTER_LIBS)

$(MASTER_OBJ): $(lib_out)/obj/tools/%.o: user/tools/%.cpp $(LIB_STD)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -g1 -O2 -Wall -Wextra -Werror -MMD -MP $(MASTER_CPPFLAGS) $(CPPFLAGS) $(LIB_SANFLAGS) \
		$(LIB_STDFLAGS) $(CXXFLAGS) -c -o $@ $<

-include $(MASTER_OBJ:.o=.d)
