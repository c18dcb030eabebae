// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: what the handshake needs of the kernel: HMAC-SHA-256, random bytes, keys.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/hash.h>
#include <linux/random.h>
#include <linux/string.h>
#include "domain.h"
#include "hmac.h"

/* Keys differ by domain, so each computation has a transform of its own. */
static int ds_hmac(void *ctx, const u8 *key, u32 keylen, const struct ds_hs_vec *vec,
		   u32 n, u8 mac[DS_MAC_LEN])
{
	struct crypto_shash *tfm;
	int ret;
	u32 i;

	tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	ret = crypto_shash_setkey(tfm, key, keylen);
	if (!ret) {
		SHASH_DESC_ON_STACK(desc, tfm);

		desc->tfm = tfm;
		ret = crypto_shash_init(desc);
		for (i = 0; i < n && !ret; i++)
			ret = crypto_shash_update(desc, vec[i].data, vec[i].len);
		if (!ret)
			ret = crypto_shash_final(desc, mac);
		shash_desc_zero(desc);
	}
	crypto_free_shash(tfm);
	return ret;
}

static void ds_hs_random(void *ctx, void *p, u32 n)
{
	get_random_bytes(p, n);
}

/* @ctx: where to put the domain's serial number */
static int ds_hs_key(void *ctx, u32 domain, u8 key[DS_HS_KEY_LEN])
{
	struct ds_domain *d = ds_domain_get(domain);
	u64 *serial = ctx;

	if (!d)
		return -ENOENT;
	*serial = d->serial;
	memcpy(key, d->key, DS_HS_KEY_LEN);
	ds_domain_put(d);
	return 0;
}

const struct ds_hs_ops ds_hmac_ops = {
	.hmac	= ds_hmac,
	.random	= ds_hs_random,
	.key	= ds_hs_key,
};

const char *ds_reject_text(u32 reject)
{
	static const char *const text[] = {
		[DS_REJECT_NONE]	= "not refused",
		[DS_REJECT_MAGIC]	= "the other side does not speak this protocol",
		[DS_REJECT_VERSION]	= "no protocol version in common; update the older host",
		[DS_REJECT_GROUP]	= "the hosts are in different groups",
		[DS_REJECT_COOKIE]	= "a data lane had no valid cookie",
		[DS_REJECT_BUSY]	= "the host has no room for another connection",
		[DS_REJECT_DOMAIN]	= "the host does not know this trust domain",
		[DS_REJECT_AUTH]	= "the domain keys differ",
		[DS_REJECT_PLATFORM]	= "page size or byte order differ",
		[DS_REJECT_NODE]	= "a host has no node number, or one that another host has",
	};

	return reject < ARRAY_SIZE(text) ? text[reject] : "refused for an unknown reason";
}

int ds_hmac_init(void)
{
	if (!crypto_has_shash("hmac(sha256)", 0, 0)) {
		pr_err("the kernel has no hmac(sha256); load the modules hmac and sha256_generic\n");
		return -ENOENT;
	}
	return 0;
}

void ds_hmac_exit(void)
{
}
