// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: failpoints, and what debugfs shows.
 *
 *	/sys/kernel/debug/ds/failpoints/NAME	one file a failpoint
 *	/sys/kernel/debug/ds/tokens		number of live tokens
 *	/sys/kernel/debug/ds/tokencache		what the token cache has counted
 *
 * Write "fail ERRNO [COUNT [SKIP]]", "delay MS [COUNT [SKIP]]", "spin MS [COUNT [SKIP]]" or "off"
 * to a failpoint; without COUNT it stays armed, and the first SKIP times it does nothing. A spin
 * keeps its processor, for where nothing may sleep. The first line read back is what is left of
 * the setting, the second is how often the failpoint has acted since the load.
 *
 * The static key counts the failpoints that somebody armed. One whose count has
 * run out keeps its share until the next write, because a key is not to be
 * flipped in the contexts in which failpoints are hit.
 */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "debug.h"
#include "params.h"
#include "tokens.h"

#define DS_FP_MAX_DELAY_MS	60000
#define DS_FP_MAX_SPIN_MS	1000
#define DS_FP_FOREVER		UINT_MAX

enum ds_fp_mode {
	DS_FP_OFF,
	DS_FP_FAIL,
	DS_FP_DELAY,
	DS_FP_SPIN,
};

static const char *const ds_fp_mode_names[] = { "off", "fail", "delay", "spin" };

/**
 * struct ds_fp - a failpoint
 * @name: of its file
 * @atomic: it is where nothing may sleep, and takes no delay
 * @mode: what it does when it is hit
 * @value: errno, or milliseconds
 * @left: how often it still acts, DS_FP_FOREVER for always
 * @skip: how often it is hit before it acts
 * @hits: how often it has acted
 * @holds_key: it is counted in ds_failpoints_armed; under ds_fp_arm_lock
 *
 * ds_fp_lock protects what changes, but for the last.
 */
struct ds_fp {
	const char	*name;
	bool		atomic;
	enum ds_fp_mode	mode;
	u32		value;
	u32		left;
	u32		skip;
	u64		hits;
	bool		holds_key;
};

static struct ds_fp ds_fps[DS_FP_COUNT] = {
	[DS_FP_REQUEST_POST]	= { .name = "request_post" },
	[DS_FP_CHAIN_POST]	= { .name = "chain_post" },
	[DS_FP_CHAIN_PARTIAL]	= { .name = "chain_partial" },
	[DS_FP_CONN_OPEN]	= { .name = "conn_open" },
	[DS_FP_HELLO]		= { .name = "hello" },
	[DS_FP_AUTH_OK]		= { .name = "auth_ok" },
	[DS_FP_LANE_CONNECT]	= { .name = "lane_connect" },
	[DS_FP_MSG_SEND]	= { .name = "msg_send" },
	[DS_FP_SEG_ALLOC]	= { .name = "seg_alloc" },
	[DS_FP_SEG_REGISTER]	= { .name = "seg_register" },
	[DS_FP_SEG_REVOKE]	= { .name = "seg_revoke" },
	[DS_FP_ATTACH_KEYS]	= { .name = "attach_keys" },
	[DS_FP_STORAGE]		= { .name = "storage" },
	[DS_FP_TOKEN_ADD]	= { .name = "token_add" },
	[DS_FP_TOKEN_WIDE]	= { .name = "token_wide" },
	[DS_FP_TOKEN_READ]	= { .name = "token_read" },
	[DS_FP_TOKEN_WRITE]	= { .name = "token_write", .atomic = true },
	[DS_FP_TOKEN_CLAIM]	= { .name = "token_claim", .atomic = true },
	[DS_FP_TOKEN_COMMIT]	= { .name = "token_commit", .atomic = true },
	[DS_FP_TOKEN_HOST]	= { .name = "token_host" },
};

static DEFINE_SPINLOCK(ds_fp_lock);	/* inside ds_fp_arm_lock */
static DEFINE_MUTEX(ds_fp_arm_lock);
static struct dentry *ds_debugfs;

DEFINE_STATIC_KEY_FALSE(ds_failpoints_armed);

/*
 * Sleeps for @ms on the clock. msleep() counts ticks: an emulated machine that its host kept from
 * running gets those it missed all at once, and the sleep is short.
 */
static void ds_fp_sleep(u32 ms)
{
	unsigned long us = (unsigned long)ms * USEC_PER_MSEC;

	usleep_range(us, us + USEC_PER_MSEC);
}

/*
 * Keeps this processor for @ms on the clock. mdelay() counts by the time stamp counter, at a rate
 * measured at boot: in an emulated machine that its host kept from running then, that is wrong.
 */
static void ds_fp_spin(u32 ms)
{
	ktime_t end = ktime_add_ms(ktime_get(), ms);

	while (ktime_before(ktime_get(), end))
		cpu_relax();
}

int __ds_failpoint(enum ds_failpoint which)
{
	struct ds_fp *fp = &ds_fps[which];
	enum ds_fp_mode mode;
	unsigned long flags;
	u32 value;

	spin_lock_irqsave(&ds_fp_lock, flags);
	mode = fp->mode;
	value = fp->value;
	if (mode != DS_FP_OFF && fp->skip) {
		fp->skip--;
		mode = DS_FP_OFF;
	} else if (mode != DS_FP_OFF) {
		fp->hits++;
		if (fp->left != DS_FP_FOREVER && --fp->left == 0)
			fp->mode = DS_FP_OFF;
	}
	spin_unlock_irqrestore(&ds_fp_lock, flags);

	switch (mode) {
	case DS_FP_FAIL:
		return -(int)value;
	case DS_FP_DELAY:
		ds_fp_sleep(value);
		return 0;
	case DS_FP_SPIN:
		ds_fp_spin(value);
		return 0;
	default:
		return 0;
	}
}

static void ds_fp_set(struct ds_fp *fp, enum ds_fp_mode mode, u32 value, u32 count,
		      u32 skip)
{
	bool arm = mode != DS_FP_OFF;

	mutex_lock(&ds_fp_arm_lock);
	spin_lock_irq(&ds_fp_lock);
	fp->mode = mode;
	fp->value = value;
	fp->left = count;
	fp->skip = skip;
	spin_unlock_irq(&ds_fp_lock);

	if (arm && !fp->holds_key)
		static_branch_inc(&ds_failpoints_armed);
	else if (!arm && fp->holds_key)
		static_branch_dec(&ds_failpoints_armed);
	fp->holds_key = arm;
	mutex_unlock(&ds_fp_arm_lock);
}

/* The next word of *@text, NULL at its end. */
static char *ds_fp_word(char **text)
{
	char *word;

	do {
		word = strsep(text, " \t\n");
	} while (word && !*word);
	return word;
}

static int ds_fp_parse(struct ds_fp *fp, char *text)
{
	u32 value, limit, count = DS_FP_FOREVER, skip = 0;
	enum ds_fp_mode mode;
	char *word;

	word = ds_fp_word(&text);
	if (!word)
		return -EINVAL;
	if (!strcmp(word, "off")) {
		if (ds_fp_word(&text))
			return -EINVAL;
		ds_fp_set(fp, DS_FP_OFF, 0, 0, 0);
		return 0;
	}
	if (!strcmp(word, "fail")) {
		mode = DS_FP_FAIL;
		limit = MAX_ERRNO;
	} else if (!strcmp(word, "delay") && !fp->atomic) {
		mode = DS_FP_DELAY;
		limit = DS_FP_MAX_DELAY_MS;
	} else if (!strcmp(word, "spin")) {
		mode = DS_FP_SPIN;
		limit = DS_FP_MAX_SPIN_MS;
	} else {
		return -EINVAL;
	}

	word = ds_fp_word(&text);
	if (!word || kstrtou32(word, 10, &value) || !value || value > limit)
		return -EINVAL;
	word = ds_fp_word(&text);
	if (word && (kstrtou32(word, 10, &count) || !count))
		return -EINVAL;
	word = ds_fp_word(&text);
	if (word && (kstrtou32(word, 10, &skip) || ds_fp_word(&text)))
		return -EINVAL;

	ds_fp_set(fp, mode, value, count, skip);
	return 0;
}

static ssize_t ds_fp_write(struct file *file, const char __user *data, size_t length, loff_t *pos)
{
	struct ds_fp *fp = file_inode(file)->i_private;
	char text[48];
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (length >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, data, length))
		return -EFAULT;
	text[length] = '\0';
	if (strlen(text) != length)
		return -EINVAL;

	err = ds_fp_parse(fp, text);
	return err ?: length;
}

static int ds_fp_show(struct seq_file *m, void *unused)
{
	struct ds_fp now;

	spin_lock_irq(&ds_fp_lock);
	now = *(struct ds_fp *)m->private;
	spin_unlock_irq(&ds_fp_lock);

	if (now.mode == DS_FP_OFF)
		seq_puts(m, "off");
	else
		seq_printf(m, "%s %u", ds_fp_mode_names[now.mode], now.value);
	if (now.mode != DS_FP_OFF && (now.left != DS_FP_FOREVER || now.skip))
		seq_printf(m, " %u", now.left);
	if (now.mode != DS_FP_OFF && now.skip)
		seq_printf(m, " %u", now.skip);
	seq_printf(m, "\nhits %llu\n", now.hits);
	return 0;
}

static int ds_fp_open(struct inode *inode, struct file *file)
{
	return single_open(file, ds_fp_show, inode->i_private);
}

static const struct file_operations ds_fp_fops = {
	.owner		= THIS_MODULE,
	.open		= ds_fp_open,
	.read		= seq_read,
	.write		= ds_fp_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int ds_tokens_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%u\n", ds_token_count(&ds_tokens.table));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ds_tokens);

static void ds_tokencache_device(struct seq_file *m, const struct ds_token_sums *sums)
{
	int i;

	for (i = 0; i < DS_TOKEN_STATS; i++)
		seq_printf(m, "%s %s %llu\n", sums->device, ds_token_stat_names[i],
			   sums->counts.n[i]);
}

static int ds_tokencache_show(struct seq_file *m, void *unused)
{
	struct ds_token_sums *sums = kmalloc(sizeof(*sums), GFP_KERNEL);
	unsigned int number;

	if (!sums)
		return -ENOMEM;
	if (ds_token_l2)
		seq_printf(m, "L2: %s of node %u%s\n", ds_token_l2_place.kind,
			   ds_token_l2_place.node, ds_token_l2_place.why);
	else
		seq_puts(m, "L2: none\n");
	for (number = 1; number < DS_TOKEN_DEVICES; number++)
		if (ds_token_device_sums(number, sums))
			ds_tokencache_device(m, sums);
	kfree(sums);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ds_tokencache);

/* The module works without debugfs, so its errors are not looked at. */
void ds_debug_init(void)
{
	struct dentry *failpoints;
	int i;

	ds_debugfs = debugfs_create_dir("ds", NULL);
	failpoints = debugfs_create_dir("failpoints", ds_debugfs);
	for (i = 0; i < DS_FP_COUNT; i++)
		debugfs_create_file(ds_fps[i].name, 0600, failpoints, &ds_fps[i], &ds_fp_fops);
	debugfs_create_file("tokens", 0400, ds_debugfs, NULL, &ds_tokens_fops);
	debugfs_create_file("tokencache", 0400, ds_debugfs, NULL, &ds_tokencache_fops);
}

void ds_debug_exit(void)
{
	debugfs_remove(ds_debugfs);
}
