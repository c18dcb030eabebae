# SPDX-License-Identifier: Apache-2.0
# Unit tests: each tests/unit/*.c, tests/unit/*.cpp and tests/model/*.c is one
# CMocka program. Included by the top-level Makefile; alone:
#
#   make -f tests/unit/unit.mk unit		build all
#   make -k -O -f tests/unit/unit.mk unit-run	build and run all, TAP output
#
# SAN=address,undefined or SAN=thread builds and runs them, and what they test,
# with sanitizers and apart from the plain build. UNIT="NAME..." takes only some.
ifndef LIB_CORE
include user/lib/lib.mk
endif
ifndef DSCTL_OBJ
include user/tools/tools.mk
endif

UNIT_DIR	:= $(BUILD)/tests/unit$(if $(SAN),-$(SAN))
UNIT_SRC	:= $(wildcard tests/unit/*.c tests/unit/*.cpp tests/model/*.c)
UNIT		?= $(sort $(basename $(notdir $(UNIT_SRC))))
unit_bin	:= $(UNIT:%=$(UNIT_DIR)/%)

ifndef MASTER_OBJ
include user/tools/dsmasterd.mk
endif

unit_cppflags	= -Iuser/lib $(LIB_CPPFLAGS) -Ikernel -DUNIT_SOURCE_DIR='"$(CURDIR)"'
unit_flags	= $(unit_cppflags) $(CPPFLAGS) -g1 -O2 -Wall -Wextra -Werror -MMD -MP -MF $@.d -MT $@ $(LIB_SANFLAGS)
# In C++ they are compiled in two thirds of the time if they need not be fast.
unit_quick	= $(CXXFLAGS) -Og -Wno-maybe-uninitialized
unit_libs	= -lcmocka -lcrypto -lpthread
$(UNIT_DIR)/user_sim_% $(UNIT_DIR)/dsctl_%: unit_libs += $(SIM_LIBS)

.PHONY: unit unit-run
unit: $(unit_bin)

# Each as soon as it is built: `make -O` keeps together what it prints.
unit-run: $(UNIT:%=unit-run-%)

unit-run-%: $(UNIT_DIR)/%
	@echo "# $<"; CMOCKA_MESSAGE_OUTPUT=TAP timeout 600 $<

# The core's tests need nothing but the core.
$(UNIT_DIR)/core_%: tests/unit/core_%.c $(LIB_CORE)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(unit_flags) $(CFLAGS) -o $@ $< $(LIB_CORE) $(LDFLAGS) $(unit_libs)

# Their accesses to memory are calls, of which tests/weak makes a model: no sanitizer's.
weak_src	:= $(wildcard tests/weak/*.c)
weak_obj	:= $(weak_src:tests/weak/%.c=$(UNIT_DIR)/weak/%.o)
$(weak_obj): $(UNIT_DIR)/weak/%.o: tests/weak/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -g1 -O2 -Wall -Wextra -Werror -MMD -MP $(CFLAGS) -c -o $@ $<

$(UNIT_DIR)/core_weak_%: LIB_SANFLAGS = -fsanitize=thread
$(UNIT_DIR)/core_weak_%: tests/unit/core_weak_%.c $(weak_obj)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(unit_flags) $(CFLAGS) -c -o $@.o $<
	$(CC) -o $@ $@.o $(weak_obj) $(LDFLAGS) $(unit_libs)

$(UNIT_DIR)/%: tests/model/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(unit_flags) $(CFLAGS) -o $@ $< $(LDFLAGS) $(unit_libs)

# With the real tables of dsctl.
unit_dsctl	:= $(filter-out %/main.o,$(DSCTL_OBJ))
$(UNIT_DIR)/dsctl_words_test $(UNIT_DIR)/dsctl_token_test: $(UNIT_DIR)/%: tests/unit/%.cpp $(unit_dsctl) $(LIB_SIM) $(LIB_INTERNAL) $(LIB_STD)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(unit_flags) $(LIB_STDFLAGS) $(unit_quick) -o $@ $< $(unit_dsctl) $(LIB_SIM) $(LIB_INTERNAL) $(LDFLAGS) \
		$(DSCTL_LIBS) $(unit_libs)

# With parts of dsmasterd.
unit_master	:= $(filter-out %/main.o,$(MASTER_OBJ))
$(UNIT_DIR)/master_%: tests/unit/master_%.cpp $(unit_master) $(LIB_INTERNAL) $(LIB_STD)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(unit_flags) $(LIB_STDFLAGS) -Iuser/tools/dsmasterd $(unit_quick) -o $@ $< $(unit_master) \
		$(LIB_INTERNAL) $(LDFLAGS) $(MASTER_LIBS) $(unit_libs)

$(UNIT_DIR)/%: tests/unit/%.c $(LIB_INTERNAL)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(unit_flags) $(CFLAGS) -o $@ $< $(LIB_INTERNAL) $(LDFLAGS) $(lib_nl) $(unit_libs) -lstdc++

$(filter $(UNIT_DIR)/user_sim_% $(UNIT_DIR)/dsctl_%,$(unit_bin)): $(LIB_SIM)
$(UNIT_DIR)/%: tests/unit/%.cpp $(LIB_INTERNAL) $(LIB_STD)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(unit_flags) $(LIB_STDFLAGS) $(unit_quick) -o $@ $< $(filter $(LIB_SIM),$^) $(LIB_INTERNAL) $(LDFLAGS) \
		$(lib_nl) $(unit_libs)

-include $(unit_bin:=.d) $(weak_obj:.o=.d)
