# SPDX-License-Identifier: Apache-2.0
# libdsuser and what is built with it. Included by the top-level Makefile;
# `make -f user/lib/lib.mk lib` works alone too.
#
#   lib           libdsuser.so, libdsnetlink.a (internal, for dsctl), libdsuser.pc
#   lib-examples  user/lib/examples and selftest, against a library installed in the build folder
#   install-lib   into $(DESTDIR)$(PREFIX); the library into $(LIBDIR) below that
#
# SAN=address,undefined or SAN=thread builds all of it with sanitizers, apart
# from the plain build.
CC	?= gcc
CXX	?= g++
AR	?= ar
OBJCOPY	?= objcopy
BUILD	?= build
PREFIX	?= /usr/local
LIBDIR	?= lib
DESTDIR	?=
SAN	?=

LIB_VERSION	:= 0.1
lib_comma	:= ,
lib_out		:= $(BUILD)$(if $(SAN),/san-$(subst $(lib_comma),-,$(SAN)))
LIB_DIR		:= $(lib_out)/lib
lib_obj		:= $(lib_out)/obj/lib

# What a part of this project needs to compile against the library.
LIB_CPPFLAGS	:= -Iuser/lib/include -Iinclude/uapi
# Under sanitizers g++ 12 takes what std::regex does for the use of unset memory, and
# needs half as long again for -O1, which saves less when the tests run.
LIB_SANFLAGS	:= $(if $(SAN),-Og -g1 -fsanitize=$(SAN) -fno-sanitize-recover=all \
			-fno-omit-frame-pointer -Wno-maybe-uninitialized)
# A third of the time would go into the standard headers: those that many files include are
# compiled once. `make tidy` does without, and so shows that each file includes what it needs.
LIB_STD		:= $(lib_out)/std.hpp.gch
LIB_STDFLAGS	:= -fPIC -Winvalid-pch -Wno-error=invalid-pch -include $(lib_out)/std.hpp
lib_warn	:= -Wall -Wextra -Werror
lib_cppflags	= -Iuser/lib $(LIB_CPPFLAGS) -Ikernel $(shell pkg-config --cflags libnl-genl-3.0)
lib_cflags	= -g1 -O2 $(lib_warn) -fPIC -fvisibility=hidden -MMD -MP
lib_nl		= $(shell pkg-config --libs libnl-genl-3.0)

# The portable core: files that compile into ds.ko and into user space; their
# licence line tells them from the rest of kernel/.
core_src	:= $(shell grep -l 'GPL-2.0-only OR Apache-2.0' kernel/*.c kernel/*/*.c 2>/dev/null)
core_o		:= $(core_src:%.c=$(lib_obj)/%.o)
netlink_o	:= $(patsubst %.cpp,$(lib_obj)/%.o,$(wildcard user/lib/netlink/*.cpp))
lib_o		:= $(patsubst %.cpp,$(lib_obj)/%.o,$(wildcard user/lib/abi/*.cpp user/lib/btree/*.cpp \
			user/lib/fabric/*.cpp user/lib/pool/*.cpp user/lib/rdm/*.cpp user/lib/store/*.cpp))

# The simulator is for dsctl and tests; what uses it needs LIB_SIM and SIM_LIBS. It has a copy of the core
# for itself, in which nothing is atomic and no lock is taken; nobody else sees its names.
sim_parts	:= $(patsubst %.cpp,$(lib_obj)/%.o,$(wildcard user/lib/sim/*.cpp)) \
			$(lib_obj)/user/lib/sim/core_alone.o
LIB_SIM		:= $(lib_obj)/user/lib/sim.o
SIM_LIBS	:= -lz -llzma -lzstd

LIB_SO		:= $(LIB_DIR)/libdsuser.so
LIB_CORE	:= $(LIB_DIR)/libdscore.a
LIB_NETLINK	:= $(LIB_DIR)/libdsnetlink.a
LIB_INTERNAL	:= $(LIB_DIR)/libdsinternal.a
LIB_PC		:= $(LIB_DIR)/pkgconfig/libdsuser.pc

lib_headers	:= $(addprefix user/lib/include/ds/,address.h async.h buffer.h ds.h ds.hpp error.h fabric.h \
		local.h message.h operation.h rdm.h rdm.hpp rdma.h result.hpp segment.h space.h store.h store.hpp \
		task.hpp token_directory.hpp tree.h tree.hpp) \
	$(wildcard include/uapi/ds/*.h)

.PHONY: lib lib-examples install-lib
lib: $(LIB_SO) $(LIB_NETLINK) $(LIB_PC)

$(lib_obj)/%.o: %.cpp $(LIB_STD)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 $(lib_cppflags) $(CPPFLAGS) $(lib_cflags) $(LIB_SANFLAGS) $(LIB_STDFLAGS) $(CXXFLAGS) -c -o $@ $<

$(lib_out)/std.hpp.gch: user/lib/lib.mk
	@mkdir -p $(@D)
	grep -rhE '^#include <[a-z_]+>' user --include='*.[ch]pp' | sort | uniq -c | \
		awk '$$1 >= 15 { print $$2, $$3 }' > $(@:.gch=)
	$(CXX) -std=c++20 -g1 -O2 -fPIC $(lib_warn) $(CPPFLAGS) $(LIB_SANFLAGS) $(CXXFLAGS) -x c++-header -o $@ $(@:.gch=)

$(lib_obj)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(lib_cppflags) $(CPPFLAGS) $(lib_cflags) $(LIB_SANFLAGS) $(CFLAGS) -c -o $@ $<

$(sim_parts): private lib_cppflags += -DDS_ALONE
# Optimised at link time they would be objects whose names objcopy does not know.
$(sim_parts): private override CFLAGS += $(if $(SAN),,-O3) -fno-lto
$(sim_parts): private override CXXFLAGS += $(if $(SAN),,-O3) -fno-lto
# The address sanitizer has a name of its own for each variable.
$(LIB_SIM): $(sim_parts)
	$(CXX) -r -nostdlib -o $@.all $^
	$(OBJCOPY) --wildcard --localize-symbol='ds_*' --localize-symbol='__odr_asan.ds_*' $@.all $@

$(LIB_CORE): $(core_o)
$(LIB_NETLINK): $(netlink_o)
# For unit tests, which look behind the version script.
$(LIB_INTERNAL): $(lib_o) $(netlink_o) $(core_o)
$(LIB_CORE) $(LIB_NETLINK) $(LIB_INTERNAL):
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(LIB_SO).$(LIB_VERSION): $(lib_o) $(LIB_NETLINK) $(LIB_CORE) user/lib/libdsuser.map
	@mkdir -p $(@D)
	$(CXX) -shared $(LIB_SANFLAGS) -Wl,-soname,libdsuser.so.0 \
		-Wl,--version-script=user/lib/libdsuser.map $(if $(SAN),,-Wl$(lib_comma)-z$(lib_comma)defs) \
		$(LDFLAGS) -o $@ $(lib_o) $(LIB_NETLINK) $(LIB_CORE) $(lib_nl)

$(LIB_SO): $(LIB_SO).$(LIB_VERSION)
	ln -sf libdsuser.so.$(LIB_VERSION) $(LIB_DIR)/libdsuser.so.0
	ln -sf libdsuser.so.0 $@

# $(call lib_pc,PREFIX,FILE)
lib_pc = sed -e 's|@PREFIX@|$(1)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(LIB_VERSION)|' user/lib/libdsuser.pc.in > "$(2)"

# $(call lib_install,FOLDER,PREFIX): FOLDER will be known as PREFIX
define lib_install
	install -d "$(1)/$(LIBDIR)/pkgconfig" "$(1)/include/ds"
	install -m 0755 $(LIB_SO).$(LIB_VERSION) "$(1)/$(LIBDIR)/"
	ln -sf libdsuser.so.$(LIB_VERSION) "$(1)/$(LIBDIR)/libdsuser.so.0"
	ln -sf libdsuser.so.0 "$(1)/$(LIBDIR)/libdsuser.so"
	install -m 0644 $(lib_headers) "$(1)/include/ds/"
	$(call lib_pc,$(2),$(1)/$(LIBDIR)/pkgconfig/libdsuser.pc)
endef

# What that is, below PREFIX.
lib_installed := $(addprefix $(LIBDIR)/,libdsuser.so libdsuser.so.0 libdsuser.so.$(LIB_VERSION) pkgconfig/libdsuser.pc) \
	$(addprefix include/ds/,$(notdir $(lib_headers)))

$(LIB_PC): user/lib/libdsuser.pc.in
	@mkdir -p $(@D)
	$(call lib_pc,$(PREFIX),$@)

install-lib: lib
	$(call lib_install,$(DESTDIR)$(PREFIX),$(PREFIX))

# The examples see the library as an installed one, through its pkg-config file.
lib_stage	:= $(lib_out)/stage
lib_examples	:= $(LIB_DIR)/examples/hello-c $(LIB_DIR)/examples/hello-cpp
lib_selftest	:= $(lib_out)/tests/library/selftest
lib_pkg		= $(shell PKG_CONFIG_LIBDIR=$(lib_stage)/$(LIBDIR)/pkgconfig pkg-config $(1) libdsuser)

lib_cxx_installed = $(CXX) -std=c++20 -O2 $(lib_warn) $(LIB_SANFLAGS) $(call lib_pkg,--cflags) -o $@ $< \
	$(call lib_pkg,--libs)

lib-examples: $(lib_examples) $(lib_selftest)

$(lib_stage)/$(LIBDIR)/pkgconfig/libdsuser.pc: $(LIB_SO) $(lib_headers) user/lib/libdsuser.pc.in
	$(call lib_install,$(lib_stage),$(abspath $(lib_stage)))

$(LIB_DIR)/examples/hello-c: user/lib/examples/hello.c $(lib_stage)/$(LIBDIR)/pkgconfig/libdsuser.pc
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 $(lib_warn) $(LIB_SANFLAGS) $(call lib_pkg,--cflags) -o $@ $< \
		$(call lib_pkg,--libs) -Wl,-rpath,'$$ORIGIN/..'

$(LIB_DIR)/examples/hello-cpp: user/lib/examples/hello.cpp $(lib_stage)/$(LIBDIR)/pkgconfig/libdsuser.pc
	@mkdir -p $(@D)
	$(lib_cxx_installed) -Wl,-rpath,'$$ORIGIN/..'

$(lib_selftest): user/lib/selftest/selftest.cpp $(lib_stage)/$(LIBDIR)/pkgconfig/libdsuser.pc
	@mkdir -p $(@D)
	$(lib_cxx_installed) -Wl,-rpath,'$$ORIGIN/../../lib'

ALL += lib-examples

-include $(lib_o:.o=.d) $(sim_parts:.o=.d) $(netlink_o:.o=.d) $(core_o:.o=.d)
