# SPDX-License-Identifier: Apache-2.0
#
# Builds what talks to the packet service from outside into $(BUILD)/tests/rdm.
# Included by the top-level Makefile; the scenario `packet` of tests/e2e runs it.
rdm_test_out	:= $(BUILD)/tests/rdm

.PHONY: rdm-tests
ALL	+= rdm-tests
rdm-tests: $(rdm_test_out)/host

$(rdm_test_out)/host: tests/rdm/host.c tests/rdm/raw.c $(wildcard tests/rdm/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) -o $@ $(filter %.c,$^)
