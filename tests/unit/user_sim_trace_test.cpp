// SPDX-License-Identifier: Apache-2.0
// Trace files of each format, packed or not; and all that can be wrong with them.
#include <algorithm>
#include <cerrno>
#include <map>

#include <ds/token.h>

#include "user_sim_files.hpp"
#include "user_sim_packs.hpp"

namespace {

using namespace simtest;

struct Expected {
    std::vector<uint32_t> ids;
    std::vector<uint64_t> keys;
    std::vector<Operation> ops = {};
    std::vector<uint64_t> times = {};
};

void check(const Trace &trace, const Expected &expected) {
    assert_int_equal(trace.requests.size(), expected.ids.size());
    assert_int_equal(trace.uniques, expected.keys.size());
    assert_true(trace.keys == expected.keys);
    assert_true(trace.time_ns == expected.times);
    for (size_t i = 0; i < expected.ids.size(); i++) {
        assert_int_equal(trace.requests[i].id, expected.ids[i]);
        assert_true(trace.requests[i].op ==
                    (expected.ops.empty() ? Operation::read : expected.ops[i]));
    }
}

struct Sample {
    Format format;
    std::string content;
    Expected expected;
};

constexpr auto read = Operation::read, written = Operation::write;
constexpr uint64_t s = 1'000'000'000;

/// A tiny file of each format.
std::vector<Sample> samples() {
    return {
        {Format::integers, "7\n9\n*\n7\n0\n", {{0, 1, 0, 2}, {7, 9, 0}}},
        {Format::integers, "18446744073709551615", {{0}, {UINT64_MAX}}},
        {Format::integers, "0x1F\n31\n*\n", {{0, 0}, {31}}},
        {Format::lis, "5 3 0 0\n4 2 0 1\n", {{0, 1, 2, 3, 0}, {5, 6, 7, 4}}},
        {Format::lis, "18446744073709551614 2 0 0\n", {{0, 1}, {UINT64_MAX - 1, UINT64_MAX}}},
        {Format::address,
         "l 0x1fffff50 1\ns 0x1fffff7f 1\r\nl 0x1fffff80 6\n",
         {{0, 0, 1}, {0x1fffff50 / 64, 0x1fffff80 / 64}, {read, written, read}}},
        {Format::csv,
         "version,time,op,size,lbn\n1,100,2a,512,17\n1,101,28,512,18\n1,101,28,"
         "512,17\n",
         {{0, 1, 0}, {17, 18}, {written, read, read}, {100 * s, 101 * s, 101 * s}}},
        {Format::csv,
         "handle,operation\n0x40000001,create\n3,update\n3,free\n",
         {{0, 1, 1}, {0x40000001, 3}, {Operation::create, written, Operation::free}}},
        {Format::csv, "8,read,5\n8,w,7\n", {{0, 0}, {8}, {read, written}, {5, 7}}},
        {Format::csv, "8,get\n9,set", {{0, 1}, {8, 9}, {read, written}}},
        {Format::csv, "8,GET\n9,Put\n", {{0, 1}, {8, 9}, {read, written}}},
        {Format::csv, "\n \r\nid,op\n8,r\n\n9,w\n\n\t\n\n\r\n", {{0, 1}, {8, 9}, {read, written}}},
        {Format::csv, "id,op,tenant\n8,w,\n9,r,31\n", {{0, 1}, {8, 9}, {written, read}}},
        {Format::csv, ",id,\n,8,\n,8,\n", {{0, 0}, {8}}},
        {Format::csv, "handle\n8\n9\n\n8", {{0, 1, 0}, {8, 9}}},
        {Format::csv, "object\n8\n9\n", {{0, 1}, {8, 9}}},
        {Format::csv, "size,key\n1,8\n1,9\n", {{0, 1}, {8, 9}}},
        {Format::csv, "\xef\xbb\xbf\n\tOBJ_ID \r\n 8\r\n", {{0}, {8}}},
        {Format::csv,
         " id, op ,\ttime_ns\n 8 , r, 5 \n9,\tw ,7\n",
         {{0, 1}, {8, 9}, {read, written}, {5, 7}}},
        {Format::csv, "Time,ID,Size\n2,8,512\n2.5,9,1\n", {{0, 1}, {8, 9}, {}, {2 * s, 5 * s / 2}}},
        {Format::u32be, be32({1, 2, 1, 3, 0x00ffffff}), {{0, 1, 0, 2, 3}, {1, 2, 3, 0xffffff}}},
        {Format::u64le, le64({1, uint64_t(1) << 39, 1, 1}), {{0, 1, 0, 0}, {1, uint64_t(1) << 39}}},
        {Format::oracle,
         oracle(9, 77, 2) + oracle(9, 78, -1) + oracle(10, 77, -1),
         {{0, 1, 0}, {77, 78}, {}, {9 * s, 9 * s, 10 * s}}},
        {Format::oracle, oracle(9, 77, 2) + oracle(9, 77, -1), {{0, 0}, {77}, {}, {9 * s, 9 * s}}},
        {Format::ds,
         ds_header() + ds_record(5, 3, 2, 3) + ds_record(6, 3, 1, 1) + ds_record(4, 4, 3),
         {{0, 0, 1}, {3, 4}, {Operation::create, written, Operation::free}, {5, 6, 4}}},
    };
}

void what_cannot_be_opened(void **) {
    Folder folder;

    assert_int_equal(refused(folder.path("none")).code, ENOENT);
    assert_int_equal(refused(folder.path("")).code, EISDIR);
}

void an_empty_file(void **) {
    Folder folder;

    assert_true(has(refused(folder.file("")).sentence, "empty"));
    for (const Sample &sample : samples())
        assert_int_equal(refused(folder.file(""), {.format = sample.format}).code, EBADMSG);
    for (Pack pack : packs)
        assert_true(has(refused(folder.file(pack(""))).sentence, "empty"));
    assert_true(has(refused(folder.file("handle,operation\n")).sentence, "no request"));
    assert_true(has(refused(folder.file(ds_header())).sentence, "no request"));
}

/// As some programs write them.
void each_second_line_is_blank(void **) {
    Folder folder;
    std::string text = "id,op\r\n\r\n";

    for (int i = 0; i < 3000; i++)
        text += std::to_string(i) + ",read\r\n\r\n";
    assert_int_equal(read_trace(folder.file(text)).requests.size(), 3000);
}

/// Each bad line stands behind two good ones.
void bad_lines(void **) {
    Folder folder;
    auto bad = [&](Format format, const std::string &good,
                   std::initializer_list<std::string> lines) {
        for (const std::string &line : lines)
            for (const char *end : {"", "\n", "\n1\n"}) {
                auto error = refused(folder.file(good + line + end), {.format = format});
                assert_int_equal(error.code, EBADMSG);
                assert_true(has(error.sentence, "Line 3 "));
            }
    };
    std::string endless(5000, '0');

    bad(Format::integers, "1\n2\n",
        {"x", "-1", "1 ", " 1", "1.5", "0x", "18446744073709551616", "**", "*x", endless});
    bad(Format::integers, "1\n*\n", {"*"});
    bad(Format::lis, "1 1 0 0\n2 1 0 0\n",
        {"1", "1 1 0", "1 1 0 0 0", "x 1 0 0", "1 x 0 0", "1 0 0 0", "-1 1 0 0", "1 -1 0 0",
         "1 1 x 0", "1 1 0 -1", "18446744073709551615 2 0 0", "18446744073709551614 3 0 0",
         endless});
    bad(Format::address, "l 0x1 1\ns 0x2 1\n",
        {"x 0x1 1", "l 1 1", "l 0x 1", "l 0x1", "l 0xg 1", "l 0x1 1 1", "l 0x1 x",
         "l 0x10000000000000000 1"});
    bad(Format::csv, "1,read\n2,write\n",
        {"1", "1,read,3", "x,read", ",read", "1,", "1,reads", "-1,read", "1;read"});
    bad(Format::csv, "handle,operation,time_ns\n1,read,2\n",
        {"1,read", "1,read,x", "1,read,", "1,read,-1", "1,read,1,1"});
    bad(Format::csv, "time,op,id\n1,read,2\n", {"18446744074,read,2"});
}

/// An error says what is wrong with its line, and which format the file was
/// taken for.
void reasons(void **) {
    Folder folder;
    auto check = [&](const std::string &content, const std::string &said,
                     const std::string &format) {
        auto error = refused(folder.file(content));
        if (!has(error.sentence, said) || !has(error.remedy, "it was taken for '" + format + "'"))
            fail_msg("%s %s", error.sentence.c_str(), error.remedy.c_str());
        error = refused(folder.file(content), {.format = format_of(format)});
        assert_false(has(error.remedy, "taken"));
    };

    check("1\n\n", "Line 2 of '" + folder.path() + "' is blank", "integers");
    check("1\n-2\n", "has -2, which is negative", "integers");
    check("1\n18446744073709551616\n", "has 18446744073709551616, which is too large", "integers");
    check("1\n0xffffffffffffffffff\n", "has 0xffffffffffffffffff, which is too large", "integers");
    check("1\n0x\n", "has '0x', which is not a number", "integers");
    check("1\n0xg\n", "has '0xg', which is not a number", "integers");
    check("1\n-0x1\n", "has -0x1, which is negative", "integers");
    check("1\nx2\n", "has 'x2', which is not a number", "integers");
    check("1\n-\n", "has '-', which is not", "integers");
    check("1 1 0 0\n\n", "is blank", "lis");
    check("1 1 0 0\n1 1 0\n", "is not four numbers", "lis");
    check("1 1 0 0\n1 0 0 0\n", "has a count of 0", "lis");
    check("1 1 0 0\n-1 1 0 0\n", "has -1, which is negative", "lis");
    check("1 1 0 0\n1 -1 0 0\n", "has -1, which is negative", "lis");
    check("1 1 0 0\nx 1 0 0\n", "has 'x', which is not a number to start at", "lis");
    check("1 1 0 0\n1 x 0 0\n", "has 'x', which is not a count", "lis");
    check("1 1 0 0\n1 1 0 x\n", "has 'x', which is not a number", "lis");
    check("1 1 0 0\n18446744073709551615 2 0 0\n", "goes on to an object above 2^64 - 1", "lis");
    check("1 99999999999999999999 0 0\n", "99, which is too large", "lis");
    check("l 0x1 1\n\n", "is blank", "address");
    check("1,read\n\n2,reads\n", "Line 3 of ", "csv");
    check("1,read\n" + std::string(2000, '\n'), "Line 1002 of '" + folder.path() + "' is blank",
          "csv");
    check("id,time\n1,.5\n", "has '.5', which is not a time in seconds", "csv");
    check("id,time\n1,-0.5\n", "has '-0.5', which is not a time in seconds", "csv");
    check("id,time\n1,1e3\n", "has '1e3', which is not a time in seconds", "csv");
    check("id,time\n1,18446744074\n", "too large: times go to 2^64 - 1 ns", "csv");
    check("id,time\n1,\n", "is blank where there should be a time in seconds", "csv");
    check("id,time_ns\n1,0.5\n", "has '0.5', which is not a time in whole nanoseconds", "csv");
    check("id,time_ns\n1,-5\n", "has -5, which is negative", "csv");
    check("1,read\n,read\n", "is blank where there should be the number of an object", "csv");
    check(
        "1,read\n1,reads\n",
        "has 'reads', which is no operation: read, r, get, 28, 88, write, w, set, put, update, 2a, "
        "8a, create or free.",
        "csv");
    check("id,time_ns,time,op\n1,2,3,read\n", "names two columns of times", "csv");
    check("id,lbn,op\n1,2,read\n", "names two columns of objects", "csv");
    check("op,id,operation\nread,2,read\n", "names two columns of operations", "csv");
    check("op\nread\n", "names no column of objects: handle, id", "csv");
    check("time\n1\n", "names no column of objects: handle, id", "csv");
    check("handle\n1\nx\n", "has 'x', which is not the number of an object", "csv");
    check("handle\n1\n2,3\n", "has 2 columns, not 1, as the first line names.", "csv");
    check("1,read\n2,read,3\n", "has 3 columns, not 2, as the first line has.", "csv");
    check("1,2,3,4\n", "Line 1 of '" + folder.path() + "' has 4 columns, not 2 or 3.", "csv");
    assert_true(has(refused(folder.file("1,2,3,4\n")).remedy, "Name the columns in a first line"));
    assert_true(has(refused(folder.file("1\n"), {.format = Format::csv}).sentence,
                    "has 1 column, not 2 or 3."));
    check("handles\n1\n", "has 'handles', which is not a number", "integers");
    for (std::string first : {"handle;op\n", "id; op\n", "a;b\n", "1; read\n"})
        check(first + "2;write\n", "Line 1 of '" + folder.path() + "' has semicolons where", "csv");
    for (std::string first : {"handle\top\n", "time\tkey\tid\n", "1\tread\n", "\t1\tread\t7\n"})
        check(first + "2\twrite\n", "Line 1 of '" + folder.path() + "' has tabs where commas",
              "csv");
    check("1\t2\t3\n", "is not four numbers", "lis");
    for (std::string comment : {"# id, op\n", "#id,op\n", "#;x\n"})
        check(comment + "1,read\n", "Line 1 of '" + folder.path() + "' is a comment, and no",
              "csv");
    check("1,read\n # and\n", "Line 2 of '" + folder.path() + "' is a comment, and no", "csv");
    check("1\n# 2\n", "Line 2 of '" + folder.path() + "' is a comment, and no", "integers");
    check("#1\n2\n", "Line 1 of '" + folder.path() + "' is a comment, and no", "integers");
    check("1 1 0 0\n# 2\n", "is a comment, and no format has comments", "lis");
    check("l 0x1 1\n#\n", "is a comment, and no format has comments", "address");
    assert_true(has(refused(folder.file("1\n# 2\n")).remedy, "Remove such lines."));
    check("address,op\n1,read\n", "names no column of objects: handle, id", "csv");
    const std::string names15 = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o";
    check(names15 + ",id,op\n", "names more than 16 columns", "csv");
    check("id,op," + names15 + "\n", "names more than 16 columns", "csv");
    check("1,op," + names15 + "\n", "has 17 columns, not 2 or 3", "csv");
    check("id,op,tenant\n1,r\n", "Line 2 of '" + folder.path() + "' has 2 columns, not 3", "csv");
    check("1,read,\n", "is blank where there should be a time in whole nanoseconds", "csv");
    check("time,name,size,op\n1,2,3,read\n", "names no column of objects: handle, id", "csv");
    check("time,key\n1,user17\n", "has 'user17', which is not the number of an object", "csv");
    check(ds_header() + "x", "in the middle of a record", "ds");
}

/// Whether it is longer than a line may be, or not.
void lines_that_end_with_cr_alone(void **) {
    Folder folder;

    for (std::string line : {"1\r", "1,read\r", "1 1 0 0\r", "l 0x1 1\r"})
        for (int lines : {2, 3, 5000}) {
            std::string content;
            for (int i = 0; i < lines; i++)
                content += line;
            for (const std::string &cut : {content, content.substr(0, content.size() - 1)}) {
                auto error = refused(folder.file(cut));
                assert_true(has(error.sentence, "cannot be read: its lines end with CR alone."));
                assert_true(has(error.remedy, "LF"));
            }
        }
    // One line ends in any way, and of bytes nothing is a line.
    assert_int_equal(read_trace(folder.file("1\r")).requests.size(), 1);
    assert_int_equal(read_trace(folder.file("1\r\n2\r")).requests.size(), 2);
    assert_false(
        has(refused(folder.file(be32({13, 13, 13})), {.format = Format::csv}).sentence, "CR"));
}

void seconds_with_decimals(void **) {
    Folder folder;
    const std::pair<const char *, uint64_t> good[] = {
        {"0", 0},
        {"0.5", s / 2},
        {"1.000000001", s + 1},
        {"2.0000000019999", 2 * s + 1},  // what is less than a nanosecond is cut off
        {"18446744073.709551615", UINT64_MAX},
    };

    for (auto [text, ns] : good) {
        std::string path = folder.file("time,op,id\n" + std::string(text) + ",read,2\n");
        assert_int_equal(read_trace(path).time_ns.at(0), ns);
    }
    auto said = [&](const std::string &text) {
        return refused(folder.file("time,op,id\n" + text + ",read,2\n")).sentence;
    };
    for (const char *text :
         {"", ".", ".5", "3.", "0.x", "0.-1", "1.5.5", "-0.5", "1e3", "0 .5", "0x", "18446744074."})
        assert_true(has(said(text), "a time in seconds") && has(said(text), text));
    for (const char *text : {"18446744073.709551616", "18446744074.0", "18446744074"})
        assert_true(has(said(text), "too large: times go to"));
    // Nanoseconds have none.
    assert_true(has(refused(folder.file("handle,op,time_ns\n1,read,0.5\n")).sentence,
                    "not a time in whole nanoseconds"));
}

/// Each format as each other one: refused, or read as something, but nothing
/// else happens.
void wrong_formats(void **) {
    Folder folder;
    auto is_number = [](Format format) {
        return format == Format::u32be || format == Format::u64le;
    };

    for (const Sample &sample : samples())
        for (const Sample &other : samples()) {
            if (other.format == sample.format || is_number(other.format))
                continue;
            assert_int_equal(refused(folder.file(sample.content), {.format = other.format}).code,
                             EBADMSG);
        }
}

void truncated_records(void **) {
    Folder folder;
    std::map<Format, size_t> sizes = {
        {Format::u32be, 4}, {Format::u64le, 8}, {Format::oracle, 24}, {Format::ds, 16}};

    for (const Sample &sample : samples()) {
        if (!sizes.contains(sample.format))
            continue;
        size_t size = sizes[sample.format];
        for (size_t length = 1; length < sample.content.size(); length++) {
            std::string path = folder.file(sample.content.substr(0, length));
            if (length % size == 0 && length > (sample.format == Format::ds ? size : 0)) {
                size_t records = length / size - (sample.format == Format::ds);
                assert_int_equal(read_trace(path, {.format = sample.format}).requests.size(),
                                 records);
                continue;
            }
            auto error = refused(path, {.format = sample.format});
            assert_int_equal(error.code, EBADMSG);
            if (length % size != 0 && length > size)
                assert_true(
                    has(error.sentence, "at byte " + std::to_string(length - length % size)));
        }
    }
}

void our_own_format_is_strict(void **) {
    Folder folder;
    auto bad = [&](const std::string &content, const std::string &what) {
        auto error = refused(folder.file(content), {.format = Format::ds});
        assert_int_equal(error.code, EBADMSG);
        assert_true(has(error.sentence, what));
    };
    std::string good = ds_record(1, 1, 0);

    bad("DSTRACE2" + ds_header().substr(8) + good, "magic");
    bad(ds_header(0) + good, "is of version 0, not 1, by its header at byte 8.");
    bad(ds_header(2, 24) + good, "is of version 2, not 1");
    bad(ds_header(1, 24) + good, "has records of 24 bytes, not 16, by its header at byte 12.");
    bad(ds_header(1, 0) + good, "has records of 0 bytes, not 16");
    bad(ds_header() + good + ds_record(1, 1, 4), "at byte 32");
    bad(ds_header() + good + ds_record(1, 1, 255), "no known kind");
    bad(ds_header() + good + ds_record(1, 1, 0, 4), "no known kind");
    bad(ds_header() + good + ds_record(1, 1, 0, 0, 1), "no known kind");
    assert_true(has(refused(folder.file(ds_header(0) + good), {.format = Format::ds}).remedy,
                    "Check the file, or name another format with --format."));
}

void an_oracle_that_looks_back(void **) {
    Folder folder;

    for (int64_t next : {int64_t(-2), int64_t(0), int64_t(1), INT64_MIN}) {
        std::string content = oracle(1, 1, -1) + oracle(1, 2, next);
        auto error = refused(folder.file(content), {.format = Format::oracle});
        assert_true(has(error.sentence, "at byte 24"));
    }
    std::string never = oracle(1, 1, INT64_MAX);
    assert_int_equal(read_trace(folder.file(never), {.format = Format::oracle}).requests.size(), 1);
}

void absurd_sizes(void **) {
    Folder folder;

    auto error = refused(folder.file("1 1000000000000 0 0\n"), {.most = 1000});
    assert_int_equal(error.code, EFBIG);
    assert_true(has(error.sentence, "1000 requests"));
    assert_int_equal(
        refused(folder.file("1 1 0 0\n2 18446744073709551612 0 0\n"), {.most = 9}).code, EFBIG);
    for (const Sample &sample : samples()) {
        uint64_t count = sample.expected.ids.size();
        std::string path = folder.file(sample.content);
        assert_int_equal(read_trace(path, {.most = count}).requests.size(), count);
        assert_int_equal(refused(path, {.most = count - 1}).code, EFBIG);
    }
}

/// 64 MiB from some kilobytes: as requests, as a line, as marks.
void bombs(void **) {
    Folder folder;

    for (Pack pack : packs) {
        std::string zeros = pack(std::string(64 << 20, 0));
        assert_true(zeros.size() < 100'000);
        assert_int_equal(
            refused(folder.file(zeros), {.format = Format::u64le, .most = 1 << 20}).code, EFBIG);
        for (Format format : {Format::integers, Format::lis, Format::address, Format::csv})
            assert_true(has(refused(folder.file(zeros), {.format = format}).sentence, "Line 1 "));
    }
    std::string marks = "1\n";
    for (int i = 0; i < 1 << 20; i++)
        marks += "*\n";
    assert_true(has(refused(folder.file(zstded(marks))).sentence, "Line 3 "));
    assert_true(has(refused(folder.file(zstded(std::string(1 << 20, '\n')))).sentence, "Line 1 "));
}

void each_format(void **) {
    Folder folder;

    for (const Sample &sample : samples()) {
        std::string path = folder.file(sample.content);
        Trace guessed = read_trace(path);
        assert_string_equal(name_of(guessed.format).data(), name_of(sample.format).data());
        check(guessed, sample.expected);
        check(read_trace(path, {.format = sample.format}), sample.expected);
        assert_true(format_of(name_of(sample.format)) == sample.format);
    }
}

void each_packing(void **) {
    Folder folder;

    for (const Sample &sample : samples())
        for (Pack pack : packs) {
            check(read_trace(folder.file(pack(sample.content))), sample.expected);
            // Two pieces behind each other are one file.
            size_t half = sample.content.size() / 2;
            check(read_trace(folder.file(pack(sample.content.substr(0, half)) +
                                         pack(sample.content.substr(half)))),
                  sample.expected);
        }
}

void blocks_of_addresses(void **) {
    Folder folder;
    std::string path = folder.file("l 0xfff 1\ns 0x1000 1\nl 0x1040 1\n");

    assert_int_equal(read_trace(path).uniques, 3);
    assert_int_equal(read_trace(path, {.block = 4096}).uniques, 2);
    assert_int_equal(read_trace(path, {.block = 1}).keys[0], 0xfff);
}

void written_and_read(void **) {
    Folder folder;
    std::string bytes;
    auto append = [&](std::span<const std::byte> part) {
        assert_true(part.size() <= 64 << 10);
        bytes.append(reinterpret_cast<const char *>(part.data()), part.size());
    };
    std::vector<Sample> all = samples();
    std::string many;

    for (int i = 0; i < 10'000; i++)
        many += std::to_string(i / 2) + "\n";
    all.push_back({Format::integers, many, {}});
    for (const Sample &sample : all) {
        Trace trace = read_trace(folder.file(sample.content));
        bytes.clear();
        if (*std::max_element(trace.keys.begin(), trace.keys.end()) > UINT32_MAX) {
            assert_int_equal(error_of([&] { write_trace(trace, append); }).code, EOVERFLOW);
            assert_int_equal(bytes.size(), 0);
            continue;
        }
        write_trace(trace, append);
        assert_int_equal(bytes.size(), 16 + 16 * trace.requests.size());
        Trace again = read_trace(folder.file(bytes));
        assert_true(again.format == Format::ds);
        assert_true(again.requests == trace.requests && again.keys == trace.keys);
        for (size_t i = 0; i < trace.requests.size(); i++)
            assert_int_equal(again.time_ns[i], trace.time_ns.empty() ? i : trace.time_ns[i]);
    }
}

void counts(void **) {
    Folder folder;
    Trace trace = read_trace(folder.file("1,create\n1,read\n2,write\n1,free\n2,write\n"));

    assert_int_equal(trace.accesses(), 3);
    assert_int_equal(trace.writes(), 2);
}

// Traces that `dsctl token record` wrote (tests/data/tokens).
void recorded_tokens(void **) {
    struct {
        const char *name;
        size_t requests;
        uint32_t uniques;
        uint64_t writes;
    } const known[] = {{"tree", 60'000, 40, 17'045}, {"store", 11'116, 54, 6'457}};

    for (const auto &row : known) {
        std::string path = UNIT_SOURCE_DIR "/tests/data/tokens/";
        Trace trace = read_trace(path + row.name + ".trace.xz");
        assert_int_equal(trace.format, Format::ds);
        assert_int_equal(trace.requests.size(), row.requests);
        assert_int_equal(trace.accesses(), row.requests);
        assert_int_equal(trace.uniques, row.uniques);
        assert_int_equal(trace.writes(), row.writes);
        assert_int_equal(trace.time_ns.size(), row.requests);
        assert_int_equal(trace.time_ns.front(), 0);
        assert_true(std::is_sorted(trace.time_ns.begin(), trace.time_ns.end()));
        for (Request r : trace.requests) {
            uint64_t handle = trace.keys[r.id];
            // Chains write to the token of a queue pair; that of a memory region is
            // read.
            assert_int_equal(handle >> DS_TOKEN_TYPE_OFF,
                             r.op == Operation::write ? DS_TOKEN_QP : DS_TOKEN_MR);
        }
    }
}

/// The numbers of requests and objects that are known of these traces.
void real_traces(void **) {
    struct {
        const char *name;
        Format format;
        size_t requests;
        uint32_t uniques;
        uint32_t block = 64;
    } const known[] = {
        {"OLTP.lis.zst", Format::lis, 914'145, 186'880},
        {"orm-busy.trace.xz", Format::u32be, 5'000'000, 76'349},
        {"web12.trace.xz", Format::u32be, 95'607, 13'756},
        {"scarab-recs.trace.xz", Format::u64le, 1'245'184, 258'368},
        {"multi3.trace.gz", Format::integers, 30'241, 7'454},
        {"2_pools.trace.gz", Format::integers, 100'000, 9'939},
        {"mcf.trace.gz", Format::address, 727'230, 90'077},
        {"mcf.trace.gz", Format::address, 727'230, 1'442, 4096},
        {"gcc.trace.gz", Format::address, 515'683, 3'367},
        {"gcc.trace.gz", Format::address, 515'683, 294, 4096},
        {"cloudPhysicsIO.csv", Format::csv, 113'872, 48'974},
        {"cloudPhysicsIO.oracleGeneral.bin", Format::oracle, 113'872, 48'974},
    };

    if (real_trace("OLTP.lis.zst").empty()) {
        print_message("# DS_TRACES is not the folder of the traces: skipped\n");
        skip();
    }
    for (const auto &row : known) {
        Trace trace = read_trace(real_trace(row.name), {.block = row.block});
        assert_string_equal(name_of(trace.format).data(), name_of(row.format).data());
        assert_int_equal(trace.requests.size(), row.requests);
        assert_int_equal(trace.uniques, row.uniques);
    }
    Trace csv = read_trace(real_trace("cloudPhysicsIO.csv"));
    Trace bin = read_trace(real_trace("cloudPhysicsIO.oracleGeneral.bin"));
    assert_true(csv.keys == bin.keys && csv.time_ns == bin.time_ns);
    for (size_t i = 0; i < csv.requests.size(); i++)
        assert_int_equal(csv.requests[i].id, bin.requests[i].id);
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(an_empty_file),
        cmocka_unit_test(each_second_line_is_blank),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(reasons),
        cmocka_unit_test(lines_that_end_with_cr_alone),
        cmocka_unit_test(seconds_with_decimals),
        cmocka_unit_test(wrong_formats),
        cmocka_unit_test(truncated_records),
        cmocka_unit_test(our_own_format_is_strict),
        cmocka_unit_test(an_oracle_that_looks_back),
        cmocka_unit_test(absurd_sizes),
        cmocka_unit_test(bombs),
        cmocka_unit_test(each_format),
        cmocka_unit_test(each_packing),
        cmocka_unit_test(blocks_of_addresses),
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(counts),
        cmocka_unit_test(recorded_tokens),
        cmocka_unit_test(real_traces),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
