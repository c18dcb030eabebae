// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the netlink commands of the token cache.
 */
#include <net/netlink.h>
#include <uapi/ds/token.h>
#include "netlink.h"
#include "netlink_family.h"
#include "token_foreign.h"
#include "token_param.h"
#include "tokencache/walk.h"
#include "tokens.h"

/* ---- parameters ---- */

/* The parameter of the command: its index, or an error that has its sentence. */
static int ds_find_token_param(struct genl_info *info, u32 domain, struct ds_token_param *p)
{
	struct nlattr *name = info->attrs[DS_A_NAME];
	int index = ds_token_param_find(nla_data(name), domain, p);

	if (index == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, name,
				    "no parameter has this name; list them for their names");
	else if (index < 0 && domain)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DS_A_DOMAIN],
				    "this parameter is not of a trust domain; leave DS_A_DOMAIN out");
	else if (index < 0)
		NL_SET_ERR_MSG_ATTR(info->extack, name,
				    "this parameter is of a trust domain; say of which by DS_A_DOMAIN");
	return index;
}

/* Of a share, whose two values and all other shares have to be right together. */
static const char *ds_share_sentence(int err)
{
	switch (err) {
	case -EINVAL:
		return "SHARE_MIN would be above SHARE_MAX; set the other one first";
	case -ENOSPC:
		return "too many domains have a share, or too much of L1 would be kept";
	default:
		return NULL;
	}
}

int ds_token_set_cmd(struct genl_info *info)
{
	struct nlattr *setting = info->attrs[DS_A_SETTING];
	u32 domain = ds_get_u32(info, DS_A_DOMAIN, 0);
	u64 value = nla_get_u64(setting);
	struct ds_token_param p;
	int index = ds_find_token_param(info, domain, &p), err;

	if (index < 0)
		return index;
	if (p.param.fixed) {
		info->extack->_msg = p.why;
		NL_SET_BAD_ATTR(info->extack, info->attrs[DS_A_NAME]);
		return -ERANGE;
	}
	if (!ds_param_fits(&p.param, value)) {
		NL_SET_ERR_MSG_ATTR(info->extack, setting,
				    "the value is out of range; list the parameters for their ranges");
		return -ERANGE;
	}
	err = ds_token_param_set(index, domain, value);
	if (err) {
		info->extack->_msg = ds_share_sentence(err);
		NL_SET_BAD_ATTR(info->extack, setting);
	}
	return err;
}

/* ---- objects of others ---- */

/* The device of the command; the devices' lock is held. */
static struct ds_token_device *ds_get_token_device(struct genl_info *info)
{
	struct nlattr *name = info->attrs[DS_A_DEVICE];
	struct ds_token_device *dev = ds_token_device_find(nla_data(name));

	if (!dev)
		NL_SET_ERR_MSG_ATTR(info->extack, name,
				    "the token cache knows no RDMA device of this name");
	return dev;
}

static const char *ds_import_sentence(int err)
{
	switch (err) {
	case -ESTALE:
		return "not the next part of an import that is under way; begin with part 1";
	case -EINVAL:
		return "no RDMA object is like this; see struct ds_token_object";
	case -EDQUOT:
		return "a host has at most 262144 imported objects, replaced ones too; forget some";
	default:
		return NULL;
	}
}

static int ds_import_part(struct genl_info *info, const struct ds_token_part *part)
{
	struct ds_token_device *dev;
	int err = -ENODEV;

	ds_token_devices_lock();
	dev = ds_get_token_device(info);
	if (dev) {
		err = ds_token_import(dev, part);
		info->extack->_msg = ds_import_sentence(err);
	}
	ds_token_devices_unlock();
	return err;
}

int ds_token_import_cmd(struct genl_info *info)
{
	struct nlattr *objects = info->attrs[DS_A_OBJECTS];
	struct ds_token_part part = {
		.portid = info->snd_portid,
		.part = ds_get_u32(info, DS_A_PART, 1),
		.parts = ds_get_u32(info, DS_A_PARTS, 1),
	};

	if (part.part > part.parts) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DS_A_PART],
				    "there are not so many parts; see DS_A_PARTS");
		return -EINVAL;
	}
	if (objects) {
		if (nla_len(objects) % sizeof(struct ds_token_object)) {
			NL_SET_ERR_MSG_ATTR(info->extack, objects,
					    "this is no whole number of struct ds_token_object");
			return -EINVAL;
		}
		part.objects = nla_data(objects);
		part.count = nla_len(objects) / sizeof(struct ds_token_object);
	}
	return ds_import_part(info, &part);
}

int ds_token_forget_cmd(struct genl_info *info)
{
	struct ds_token_device *dev;
	int err = -ENODEV;

	ds_token_devices_lock();
	dev = ds_get_token_device(info);
	if (dev)
		err = ds_token_forget(dev);
	if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DS_A_DEVICE],
				    "nothing was imported of this device");
	ds_token_devices_unlock();
	return err;
}

/* ---- pins ---- */

static int ds_has_foreign(struct ds_token_device *dev, void *token)
{
	u64 word;

	return dev->foreign && !ds_token_find(&dev->foreign->table, *(const u32 *)token, &word);
}

/* Imported ones are numbered on their own: a token of ours with this handle comes first. */
static bool ds_is_foreign(u32 token)
{
	bool found;

	ds_token_devices_lock();
	found = ds_token_device_for_each(ds_has_foreign, &token);
	ds_token_devices_unlock();
	return found;
}

static const char *ds_pin_sentence(int err)
{
	switch (err) {
	case -EBADF:
		return "there never was a token with this handle; list the tokens for theirs";
	case -ESTALE:
		return "the object of this token is gone, and its handle with it";
	case -EOPNOTSUPP:
		return "this object was imported: its token has no slot, and never moves";
	case -EBUSY:
		return "the token is on its way to another tier; try again when it is there";
	case -EDQUOT:
		return "half of L1 is pinned; unpin another token there first";
	case -EAGAIN:
		return "the token is written to all the time; try again";
	default:
		return NULL;
	}
}

/* Of both commands. */
int ds_token_pin_cmd(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[DS_A_TOKEN];
	u32 token = nla_get_u32(attr);
	int err = ds_token_pin(token, info->genlhdr->cmd == DS_CMD_TOKEN_PIN);

	if ((err == -EBADF || err == -ESTALE) && ds_is_foreign(token))
		err = -EOPNOTSUPP;
	if (err) {
		info->extack->_msg = ds_pin_sentence(err);
		NL_SET_BAD_ATTR(info->extack, attr);
	}
	return err;
}
