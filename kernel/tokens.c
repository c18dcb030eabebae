// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the host's token table.
 */
#include <linux/completion.h>
#include "tokens.h"

struct ds_token_table ds_tokens;

int ds_tokens_init(void)
{
	return ds_token_table_init(&ds_tokens, 1u << DS_TOKEN_INDEX_BITS);
}

void ds_tokens_exit(void)
{
	WARN_ON_ONCE(ds_token_table_destroy(&ds_tokens));
}

static void ds_token_idle(void *ctx)
{
	complete(ctx);
}

void ds_token_end(u32 token)
{
	DECLARE_COMPLETION_ONSTACK(idle);
	int ret;

	ret = ds_token_revoke(&ds_tokens, token, ds_token_idle, &idle);
	if (ret == -EINPROGRESS)
		wait_for_completion(&idle);
	else if (ret)
		return;
	ds_token_free(&ds_tokens, token);
}
