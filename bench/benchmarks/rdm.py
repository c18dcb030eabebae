# SPDX-License-Identifier: Apache-2.0
"""The packet service: what translating an address costs beside the kernel's own tables, and READs beside bare messages."""
import rdm_translation
import rdm_wire

# Each has run(options), which returns rows.
GROUPS = (rdm_translation, rdm_wire)


def run(options):
    """All of it. Returns the rows."""
    return [row for group in GROUPS for row in group.run(options)]
