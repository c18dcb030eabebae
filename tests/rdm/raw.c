// SPDX-License-Identifier: Apache-2.0
#include "raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ARP_SECONDS	10
#define DISCARD_PORT	9
#define RECEIVE_BUFFER	(8 << 20)

const char raw_usage[] =
	"  -i INTERFACE   that the server is on\n"
	"  -s ADDRESS     of the server\n"
	"  -p PORT        of the server\n"
	"  -l PORT        of ours (30000)\n"
	"  -m MAC         of the server (that which the kernel knows)\n"
	"  -k             send a UDP checksum, not 0\n";

_Noreturn void raw_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("Bail out! ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	exit(2);
}

static uint16_t port_of(const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (*end || !port || port > UINT16_MAX)
		raw_die("'%s' is no port", text);
	return port;
}

static bool parse_mac(const char *text, uint8_t *mac)
{
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6;
}

bool raw_option(struct raw *raw, int option, const char *value)
{
	switch (option) {
	case 'i':
		raw->interface = value;
		return true;
	case 's':
		raw->server = value;
		return true;
	case 'p':
		raw->server_port = port_of(value);
		return true;
	case 'l':
		raw->port = port_of(value);
		return true;
	case 'm':
		if (!parse_mac(value, raw->server_mac))
			raw_die("'%s' is no MAC address", value);
		return true;
	case 'k':
		raw->checksum = true;
		return true;
	default:
		return false;
	}
}

static void ask_interface(struct raw *raw, struct ifreq *request, unsigned long what, const char *name)
{
	if (ioctl(raw->keeper, what, request))
		raw_die("%s: no %s: %s", raw->interface, name, strerror(errno));
}

static void describe_interface(struct raw *raw)
{
	struct ifreq request = { 0 };

	if (strlen(raw->interface) >= sizeof(request.ifr_name))
		raw_die("'%s' is no interface", raw->interface);
	strcpy(request.ifr_name, raw->interface);
	ask_interface(raw, &request, SIOCGIFHWADDR, "MAC address");
	memcpy(raw->mac, request.ifr_hwaddr.sa_data, sizeof(raw->mac));
	ask_interface(raw, &request, SIOCGIFADDR, "address");
	memcpy(raw->ip, &((struct sockaddr_in *)&request.ifr_addr)->sin_addr, sizeof(raw->ip));
	ask_interface(raw, &request, SIOCGIFMTU, "MTU");
	raw->mtu = request.ifr_mtu;
}

/* A host with two devices may be known on both, and answers on one to the MAC address of that only. */
static bool read_arp(const struct raw *raw, uint8_t *mac)
{
	char line[256], ip[64], address[64], device[IFNAMSIZ];
	FILE *file = fopen("/proc/net/arp", "re");
	unsigned int flags;
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%63s 0x%*x 0x%x %63s %*s %15s", ip, &flags, address, device) == 4 &&
			!strcmp(ip, raw->server) && !strcmp(device, raw->interface) && (flags & 2) &&
			parse_mac(address, mac);
	if (file)
		fclose(file);
	return found;
}

/* The kernel asks for the address when it has something to send there. */
static void find_mac(struct raw *raw)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(DISCARD_PORT) };
	const struct timespec while_ = { 0, 100000000 };

	memcpy(&to.sin_addr, raw->server_ip, sizeof(raw->server_ip));
	for (int i = 0; i < ARP_SECONDS * 10; i++) {
		if (read_arp(raw, raw->server_mac))
			return;
		if (i % 10 == 0)
			sendto(raw->keeper, "", 1, 0, (struct sockaddr *)&to, sizeof(to));
		nanosleep(&while_, NULL);
	}
	raw_die("nobody knows the MAC address of %s: is it on %s?", raw->server, raw->interface);
}

static void open_keeper(struct raw *raw)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(raw->port) };

	raw->keeper = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (raw->keeper < 0 || bind(raw->keeper, (struct sockaddr *)&here, sizeof(here)))
		raw_die("UDP port %u: %s", raw->port, strerror(errno));
}

static void open_packet(struct raw *raw)
{
	struct sockaddr_ll link = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
				    .sll_ifindex = if_nametoindex(raw->interface) };
	const int on = 1, room = RECEIVE_BUFFER;

	raw->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (raw->fd < 0 || setsockopt(raw->fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) ||
	    setsockopt(raw->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(raw->fd, (struct sockaddr *)&link, sizeof(link)))
		raw_die("raw socket on %s: %s", raw->interface, strerror(errno));
}

void raw_open(struct raw *raw)
{
	static const uint8_t unknown[6];

	if (!raw->interface || !raw->server || !raw->server_port)
		raw_die("the options -i, -s and -p are needed");
	if (!raw->port)
		raw->port = RAW_PORT;
	if (inet_pton(AF_INET, raw->server, raw->server_ip) != 1)
		raw_die("'%s' is no IPv4 address", raw->server);
	open_keeper(raw);
	describe_interface(raw);
	if (!memcmp(raw->server_mac, unknown, sizeof(unknown)))
		find_mac(raw);
	open_packet(raw);
}

void raw_close(struct raw *raw)
{
	close(raw->fd);
	close(raw->keeper);
}

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static uint32_t add_words(uint32_t sum, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i + 1 < length; i += 2)
		sum += get16(bytes + i);
	if (length % 2)
		sum += bytes[length - 1] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* 0 if the header's own checksum is right. */
uint16_t raw_ip_sum(const uint8_t *header, size_t length)
{
	return fold(add_words(0, header, length));
}

/* Of the datagram at @udp; its checksum field counts as it is. */
static uint16_t udp_sum(const uint8_t *ip, const uint8_t *udp, size_t length)
{
	return fold(add_words(add_words(17 + length, ip + 12, 8), udp, length));
}

bool raw_udp_sum_right(const uint8_t *frame)
{
	return !get16(frame + RAW_UDP + 6) ||
	       !udp_sum(frame + RAW_IP, frame + RAW_UDP, get16(frame + RAW_UDP + 4));
}

void raw_sum(const struct raw *raw, uint8_t *frame, size_t length)
{
	size_t header = (frame[RAW_IP] & 15) * 4;
	uint8_t *udp = frame + RAW_IP + header;
	uint16_t sum;

	put16(frame + RAW_IP + 10, 0);
	put16(frame + RAW_IP + 10, raw_ip_sum(frame + RAW_IP, header));
	put16(udp + 6, 0);
	if (!raw->checksum)
		return;
	sum = udp_sum(frame + RAW_IP, udp, length - RAW_IP - header);
	put16(udp + 6, sum ? sum : 0xffff);
}

void raw_headers(const struct raw *raw, uint8_t *frame, size_t length)
{
	uint8_t *ip = frame + RAW_IP, *udp = frame + RAW_UDP;

	memcpy(frame, raw->server_mac, 6);
	memcpy(frame + 6, raw->mac, 6);
	put16(frame + 12, ETH_P_IP);

	memset(ip, 0, RAW_UDP - RAW_IP);
	ip[0] = 0x45;
	put16(ip + 2, length - RAW_IP);
	ip[8] = 64;	/* hops */
	ip[9] = 17;	/* UDP */
	memcpy(ip + 12, raw->ip, 4);
	memcpy(ip + 16, raw->server_ip, 4);

	put16(udp, raw->port);
	put16(udp + 2, raw->server_port);
	put16(udp + 4, length - RAW_UDP);
	raw_sum(raw, frame, length);
}

bool raw_send(const struct raw *raw, const uint8_t *frame, size_t length)
{
	struct pollfd room = { .fd = raw->fd, .events = POLLOUT };

	while (send(raw->fd, frame, length, 0) < 0) {
		if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
			return false;
		poll(&room, 1, 10);
	}
	return true;
}

static bool is_ours(const struct raw *raw, const uint8_t *frame, size_t length)
{
	return length >= RAW_PAYLOAD && frame[RAW_IP + 9] == 17 &&
	       !memcmp(frame + RAW_IP + 12, raw->server_ip, 4) && get16(frame + RAW_UDP + 2) == raw->port;
}

/* One frame of whatever kind. The auxiliary data says whether it has its checksum. */
static size_t receive_any(struct raw *raw, uint8_t *frame)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
	struct iovec data = { frame, RAW_MAX };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t length = recvmsg(raw->fd, &message, MSG_DONTWAIT);
	struct cmsghdr *about = CMSG_FIRSTHDR(&message);
	struct tpacket_auxdata aux = { 0 };

	if (length < 0 && errno != EAGAIN && errno != EINTR)
		raw_die("%s: %s", raw->interface, strerror(errno));
	if (length > 0 && about && about->cmsg_type == PACKET_AUXDATA)
		memcpy(&aux, CMSG_DATA(about), sizeof(aux));
	raw->unsummed = aux.tp_status & TP_STATUS_CSUMNOTREADY;
	return length > 0 ? length : 0;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

size_t raw_receive(struct raw *raw, uint8_t *frame, int timeout_ms)
{
	struct pollfd ready = { .fd = raw->fd, .events = POLLIN };
	long end = now_ms() + timeout_ms, left = timeout_ms;
	size_t length;

	do {
		if (poll(&ready, 1, left) > 0) {
			length = receive_any(raw, frame);
			if (is_ours(raw, frame, length))
				return length;
		}
		left = end - now_ms();
	} while (left > 0);
	return 0;
}
