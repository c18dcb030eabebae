# SPDX-License-Identifier: Apache-2.0
#
# Makes a trace for `dsctl rdm replay` from a block trace of CloudPhysics (CSV: version, time
# in seconds, SCSI operation in hexadecimal, bytes, block of 512 bytes):
#
#   awk [-v span=BYTES] [-v scale=N] -f tests/rdm/cloudphysics.awk FILE.csv
#
# A disk is larger than a space: offsets are taken modulo the span (32 MiB), in whole pages,
# and so that no request reaches over its end. 16 requests are a batch. Offsets and lengths are
# divided by the scale (1): the same requests with less data.
BEGIN {
	FS = ","
	page = 4096
	sign["2a"] = ""		# WRITE(10)
	sign["28"] = "-"	# READ(10)
	if (!span)
		span = 33554432
	if (!scale)
		scale = 1
}

function stop(why)
{
	print FILENAME ", line " FNR ": " why > "/dev/stderr"
	failed = 1
	exit 1
}

FNR == 1 {
	if ($0 != "version,time,op,size,lbn")
		stop("this is another format")
	next
}

{
	if (!($3 in sign))
		stop("operation " $3 " is neither a read (28) nor a write (2a)")
	pages = int((int(($4 + scale - 1) / scale) + page - 1) / page)
	if (pages < 1 || pages * page > span)
		stop($4 " bytes are none, or more than the span")
	if (!requests)
		begin = $2
	offset = int($5 * 512 / scale) % span
	offset -= offset % page
	if (offset + pages * page > span)
		offset = span - pages * page
	printf "%d %.0f %s%d %d\n", 1 + int(requests / 16), ($2 - begin) * 1000000, sign[$3], offset, pages
	requests++
}

END { exit failed }
