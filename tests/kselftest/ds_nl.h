/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the netlink family "ds" for tests, byte by byte: a test says exactly what
 * a request holds, right or wrong, and sees the error, its sentence and the
 * attribute that it is about. Included after ds_test.h.
 *
 *	struct nl_request r;
 *
 *	nl_begin(&r, DS_CMD_DOMAIN_DEL, 0);
 *	nl_put_u32(&r, DS_A_DOMAIN, 7);
 *	EXPECT_EQ(-ENOENT, nl_call(&r));
 *	EXPECT(nl_answer.text[0]);
 */
#ifndef DS_NL_H
#define DS_NL_H

#include <sys/socket.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <ds/netlink.h>

#define NL_WAIT_SECONDS	40	/* longer than any command takes */
#define NL_BUFFER	4096	/* also how much of a dump one recv() takes */

struct nl_request {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	char attrs[1024];
};

/*
 * What came back for the last call. @attrs and @length: attributes of the last
 * message. @text: the sentence. @at: offset of the attribute at fault in the
 * request, 0 for none. @missing: type of the attribute that lacks, 0 for none.
 */
struct nl_answer {
	char attrs[NL_BUFFER];
	int length;
	char text[256];
	uint32_t at;
	uint32_t missing;
};

static struct nl_answer nl_answer;
static uint16_t nl_family, nl_group;

/* ---- requests ---- */

static inline void nl_begin_as(struct nl_request *r, uint16_t type, uint8_t cmd, uint16_t flags)
{
	static uint32_t sequence;

	memset(r, 0, sizeof(*r));
	r->head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	r->head.nlmsg_type = type;
	r->head.nlmsg_flags = NLM_F_REQUEST | flags;
	r->head.nlmsg_seq = ++sequence;
	r->genl.cmd = cmd;
	r->genl.version = DS_GENL_VERSION;
}

static inline void nl_put(struct nl_request *r, uint16_t type, const void *data, uint16_t length)
{
	struct nlattr *attr = (struct nlattr *)((char *)r + r->head.nlmsg_len);

	ASSERT(r->head.nlmsg_len + NLA_HDRLEN + NLA_ALIGN(length) <= sizeof(*r));
	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + length;
	if (length)
		memcpy((char *)attr + NLA_HDRLEN, data, length);
	r->head.nlmsg_len += NLA_ALIGN(attr->nla_len);
}

static inline void nl_put_u32(struct nl_request *r, uint16_t type, uint32_t value)
{
	nl_put(r, type, &value, sizeof(value));
}

static inline void nl_put_u64(struct nl_request *r, uint16_t type, uint64_t value)
{
	nl_put(r, type, &value, sizeof(value));
}

/* ---- answers ---- */

/* The attribute of @type within @length bytes, or NULL. */
static inline const struct nlattr *nl_find_in(const void *attrs, int length, uint16_t type)
{
	const struct nlattr *attr = attrs;

	while (length >= NLA_HDRLEN && attr->nla_len >= NLA_HDRLEN && attr->nla_len <= length) {
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		length -= NLA_ALIGN(attr->nla_len);
		attr = (const struct nlattr *)((const char *)attr + NLA_ALIGN(attr->nla_len));
	}
	return NULL;
}

static inline const void *nl_data(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static inline const struct nlattr *nl_find(uint16_t type)
{
	return nl_find_in(nl_answer.attrs, nl_answer.length, type);
}

/* Value of a number of any width in the last answer; ~0 if it is not there. */
static inline uint64_t nl_get(uint16_t type)
{
	const struct nlattr *attr = nl_find(type);
	uint64_t value = 0;

	if (!attr)
		return ~0ull;
	memcpy(&value, nl_data(attr), attr->nla_len - NLA_HDRLEN > 8 ? 8 : attr->nla_len - NLA_HDRLEN);
	return value;
}

/* Type of the attribute of @r that the last error was about, 0 for none. */
static inline uint16_t nl_fault(const struct nl_request *r)
{
	if (!nl_answer.at || nl_answer.at + NLA_HDRLEN > r->head.nlmsg_len)
		return 0;
	return ((const struct nlattr *)((const char *)r + nl_answer.at))->nla_type & NLA_TYPE_MASK;
}

static inline void nl_keep_extack(const struct nlmsghdr *head, int payload)
{
	const struct nlattr *attr;
	const char *tlvs;
	int length;

	if (!(head->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	tlvs = (const char *)head + NLMSG_LENGTH(payload);
	length = (int)head->nlmsg_len - NLMSG_LENGTH(payload);
	attr = nl_find_in(tlvs, length, NLMSGERR_ATTR_MSG);
	if (attr)
		snprintf(nl_answer.text, sizeof(nl_answer.text), "%s", (const char *)nl_data(attr));
	attr = nl_find_in(tlvs, length, NLMSGERR_ATTR_OFFS);
	if (attr)
		nl_answer.at = *(const uint32_t *)nl_data(attr);
	attr = nl_find_in(tlvs, length, NLMSGERR_ATTR_MISS_TYPE);
	if (attr)
		nl_answer.missing = *(const uint32_t *)nl_data(attr);
}

/*
 * Take one message. Return 1 if it holds an object or an event, now in
 * nl_answer; 0 at the end of the answer; a negative errno that came for it.
 */
static inline int nl_take(const struct nlmsghdr *head)
{
	const int *error = NLMSG_DATA(head);

	if (head->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *report = NLMSG_DATA(head);
		int echoed = head->nlmsg_flags & NLM_F_CAPPED ? 0 :
			     (int)report->msg.nlmsg_len - NLMSG_HDRLEN;

		nl_keep_extack(head, sizeof(*report) + (*error ? NLMSG_ALIGN(echoed) : 0));
		return *error;
	}
	if (head->nlmsg_type == NLMSG_DONE) {
		nl_keep_extack(head, sizeof(*error));
		return *error;
	}
	nl_answer.length = (int)head->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	memcpy(nl_answer.attrs, (const char *)NLMSG_DATA(head) + GENL_HDRLEN, nl_answer.length);
	return 1;
}

static inline void nl_send(int fd, const struct nl_request *r)
{
	memset(&nl_answer, 0, sizeof(nl_answer));
	ASSERT(send(fd, r, r->head.nlmsg_len, 0) == (ssize_t)r->head.nlmsg_len);
}

static inline ssize_t nl_receive(int fd, void *buffer)
{
	ssize_t length;

	do {
		length = recv(fd, buffer, NL_BUFFER, 0);
	} while (length < 0 && errno == EINTR);
	ASSERT(length > 0);
	return length;
}

/*
 * Send a request on @fd and take its answer. @object is called for each message.
 * Return 0, or the negative errno that came. @interrupted: set if a dump was.
 */
static inline int nl_talk(int fd, const struct nl_request *r, void (*object)(void *ctx), void *ctx,
			  bool *interrupted)
{
	char buffer[NL_BUFFER];
	ssize_t length;
	int ret;

	nl_send(fd, r);
	for (;;) {
		const struct nlmsghdr *head = (const struct nlmsghdr *)buffer;

		length = nl_receive(fd, buffer);
		for (; NLMSG_OK(head, (size_t)length); head = NLMSG_NEXT(head, length)) {
			if (interrupted && head->nlmsg_flags & NLM_F_DUMP_INTR)
				*interrupted = true;
			ret = nl_take(head);
			if (ret <= 0)
				return ret;
			if (object)
				object(ctx);
		}
	}
}

/* ---- the family ---- */

static inline int nl_open_socket(void)
{
	struct timeval wait = { .tv_sec = NL_WAIT_SECONDS };
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	int fd, on = 1;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	ASSERT(fd >= 0);
	ASSERT_OK(setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)));
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)));
	ASSERT_OK(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

/* Learn the numbers of the family and its group. Return 0 or a negative errno. */
static inline int nl_resolve(int fd)
{
	const struct nlattr *groups, *group;
	struct nl_request r;
	int ret;

	nl_begin_as(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	r.genl.version = 1;
	nl_put(&r, CTRL_ATTR_FAMILY_NAME, DS_GENL_NAME, sizeof(DS_GENL_NAME));
	ret = nl_talk(fd, &r, NULL, NULL, NULL);
	if (ret)
		return ret;
	nl_family = nl_get(CTRL_ATTR_FAMILY_ID);
	groups = nl_find(CTRL_ATTR_MCAST_GROUPS);
	ASSERT(groups);
	group = nl_data(groups);	/* the first and only one */
	group = nl_find_in(nl_data(group), group->nla_len - NLA_HDRLEN, CTRL_ATTR_MCAST_GRP_ID);
	ASSERT(group);
	nl_group = *(const uint32_t *)nl_data(group);
	return 0;
}

static int nl_own = -1;

/* A socket of this process, made at first use. */
static inline int nl_socket(void)
{
	if (nl_own < 0) {
		nl_own = nl_open_socket();
		ASSERT(nl_resolve(nl_own) == 0);
	}
	return nl_own;
}

/* In a child: make a socket of its own, not to take its parent's answers. */
static inline void nl_renew(void)
{
	nl_own = -1;
}

static inline void nl_begin(struct nl_request *r, uint8_t cmd, uint16_t flags)
{
	nl_socket();
	nl_begin_as(r, nl_family, cmd, flags);
}

/* Send a request and take its answer. Return 0 or a negative errno. */
static inline int nl_call(struct nl_request *r)
{
	r->head.nlmsg_flags |= NLM_F_ACK;
	return nl_talk(nl_socket(), r, NULL, NULL, NULL);
}

static inline int nl_dump(uint8_t cmd, void (*object)(void *ctx), void *ctx, bool *interrupted)
{
	struct nl_request r;

	nl_begin(&r, cmd, NLM_F_DUMP);
	return nl_talk(nl_socket(), &r, object, ctx, interrupted);
}

/* Does a dump that does not fit into one buffer say so when @change comes behind the first one? */
static inline bool nl_dump_is_interrupted(uint8_t cmd, void (*change)(void))
{
	int fd = nl_open_socket();
	bool interrupted = false, over = false;
	char buffer[NL_BUFFER];
	struct nl_request r;
	ssize_t length;

	nl_begin(&r, cmd, NLM_F_DUMP);
	nl_send(fd, &r);
	nl_receive(fd, buffer);
	change();
	while (!over) {
		const struct nlmsghdr *head = (const struct nlmsghdr *)buffer;

		length = nl_receive(fd, buffer);
		for (; NLMSG_OK(head, (size_t)length); head = NLMSG_NEXT(head, length)) {
			interrupted |= !!(head->nlmsg_flags & NLM_F_DUMP_INTR);
			over |= head->nlmsg_type == NLMSG_DONE;
		}
	}
	close(fd);
	return interrupted;
}

#endif
