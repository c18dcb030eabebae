# SPDX-License-Identifier: Apache-2.0
# dsctl, its man pages and its completion. Included by the top-level Makefile; also works alone:
#   make -f user/tools/tools.mk dsctl
BUILD ?= build
CXX ?= g++
DS_VERSION ?= 0.1.0
# Static, so that the one file runs where no library is installed.
ifndef LIB_INTERNAL
include user/lib/lib.mk
endif

DSCTL_SRC := $(wildcard user/tools/dsctl/*.cpp)
DSCTL_OBJ := $(DSCTL_SRC:user/tools/%.cpp=$(lib_out)/obj/tools/%.o)
DSCTL_CXXFLAGS := -std=c++20 -g1 -O2 -Wall -Wextra -Werror -MMD -MP \
	-Iinclude/uapi -Ikernel -Iuser/lib/include -Iuser/lib -DDSCTL_VERSION='"$(DS_VERSION)"' \
	$(shell pkg-config --cflags libnl-genl-3.0)
DSCTL_LIBS := $(shell pkg-config --libs libnl-genl-3.0 ncursesw) -libverbs $(SIM_LIBS)

.PHONY: dsctl
dsctl: $(lib_out)/bin/dsctl

$(lib_out)/bin/dsctl: $(DSCTL_OBJ) $(LIB_SIM) $(LIB_INTERNAL)
	@mkdir -p $(@D)
	$(CXX) $(LIB_SANFLAGS) $(LDFLAGS) -o $@ $^ $(DSCTL_LIBS)

$(DSCTL_OBJ): $(lib_out)/obj/tools/%.o: user/tools/%.cpp $(LIB_STD)
	@mkdir -p $(@D)
	$(CXX) $(DSCTL_CXXFLAGS) $(CPPFLAGS) $(LIB_SANFLAGS) $(LIB_STDFLAGS) $(CXXFLAGS) -c -o $@ $<

# Man pages: what the tables of dsctl know is put in where a source says @PART@.
MAN_SRC := $(wildcard docs/man/*.8.scd)
MAN := $(MAN_SRC:docs/man/%.scd=$(BUILD)/man/%)

.PHONY: man install-man
man: $(MAN) $(BUILD)/completion/dsctl

$(MAN): $(BUILD)/man/%: docs/man/%.scd user/tools/manpage $(lib_out)/bin/dsctl
	@mkdir -p $(@D)
	user/tools/manpage $(lib_out)/bin/dsctl $< > $@

# What bash completes, from the same tables; scripts/install takes it from there.
$(BUILD)/completion/dsctl: $(lib_out)/bin/dsctl
	@mkdir -p $(@D)
	$< completion bash > $@

man_installed := $(addprefix share/man/man8/,$(notdir $(MAN)))
install-man: man
	install -d "$(DESTDIR)$(PREFIX)/share/man/man8"
	install -m 0644 $(MAN) "$(DESTDIR)$(PREFIX)/share/man/man8/"

-include $(DSCTL_OBJ:.o=.d)
