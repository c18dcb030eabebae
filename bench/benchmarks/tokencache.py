# SPDX-License-Identifier: Apache-2.0
"""The token cache: look-ups in its directory beside the kernel's xarray, and its memory."""
import tokencache_lookup

# Each has run(options), which returns rows.
GROUPS = (tokencache_lookup,)


def run(options):
    """All of it. Returns the rows."""
    return [row for group in GROUPS for row in group.run(options)]
