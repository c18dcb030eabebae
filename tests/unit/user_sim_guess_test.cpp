// SPDX-License-Identifier: Apache-2.0
// The format of a file is told by its content, and where that may be more than
// one, it is refused.
#include <endian.h>
#include <zstd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <random>

#include "user_sim_files.hpp"

namespace {

using namespace simtest;

template <class... T>
void put(std::string &bytes, const T &...values) {
    (bytes.append(reinterpret_cast<const char *>(&values), sizeof(values)), ...);
}

void no_format_at_all(void **) {
    Folder folder;
    std::mt19937 random(1);
    std::string noise;

    for (int i = 0; i < 4096; i++)
        noise += static_cast<char>(random());
    assert_true(
        has(refused(folder.file("\n# Traces\n")).sentence, "begins with a comment, and no"));
    assert_true(has(refused(folder.file("# Traces\n")).remedy, "remove such lines"));
    assert_true(has(refused(folder.file("Milk; bread\n")).sentence, "begins with no number"));
    assert_true(has(refused(folder.file("\n-1 2 0 0\n")).sentence, "begins with no number"));
    assert_true(has(refused(folder.file("Traces\n")).sentence, "Line 1 "));
    assert_true(has(refused(folder.file("QPs,Mpps\n10,1.5\n")).sentence, "Line 1 "));
    assert_true(
        has(refused(folder.file("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,id,op\n")).sentence, "Line 1"));
    auto error = refused(folder.file(noise));
    assert_true(has(error.sentence, "cannot be told") && has(error.remedy, "u64le"));
    // Named, noise is as good as any.
    assert_int_equal(read_trace(folder.file(noise), {.format = Format::u32be}).requests.size(),
                     1024);
    assert_int_equal(error_of([] { format_of("frob"); }).code, EINVAL);
}

/// Its size stands behind its mark, which there are 16 of; pzstd begins with
/// one.
void zstd_behind_what_is_to_be_skipped(void **) {
    Folder folder;
    std::string content = "1\n2\n", packed(ZSTD_compressBound(content.size()), 0);

    packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 1));
    for (uint32_t mark = 0x184d2a50; mark < 0x184d2a60; mark++)
        for (uint32_t size : {0, 4, 200'000}) {
            std::string skipped = bytes_of(mark) + bytes_of(size) + std::string(size, 'x');
            assert_int_equal(read_trace(folder.file(skipped + packed)).requests.size(), 2);
            assert_int_equal(
                read_trace(folder.file(skipped + skipped + packed + skipped)).requests.size(), 2);
            assert_true(has(refused(folder.file(skipped)).sentence, "empty"));
            assert_true(has(refused(folder.file(skipped.substr(0, 7))).sentence, "middle"));
        }
    assert_true(has(refused(folder.file("P*M\x17\n")).sentence, "cannot be told"));
}

/// 64-bit numbers of any size are told from 32-bit ones by what comes again.
void hashed_keys(void **) {
    Folder folder;
    std::mt19937_64 random(3);
    std::vector<uint64_t> keys(100);
    std::string wide, narrow;

    for (uint64_t &key : keys)
        key = random();
    for (int i = 0; i < 5000; i++) {
        wide += bytes_of(keys[random() % 100]);
        narrow += bytes_of(static_cast<uint32_t>(keys[random() % 100]));
    }
    Trace trace = read_trace(folder.file(wide));
    assert_true(trace.format == Format::u64le && trace.uniques == 100);
    trace = read_trace(folder.file(narrow));
    assert_true(trace.format == Format::u32be && trace.requests.size() == 5000);
}

/// A long trace of libCacheSim, from record @p first on and of @p size bytes;
/// its next requests are counted from @p base.
std::string piece_of_oracle(size_t first, size_t size, int64_t base) {
    constexpr size_t records = 20'000;
    std::mt19937 random(5);
    std::vector<uint64_t> ids;
    std::map<uint64_t, int64_t> later;
    std::string all, part;

    for (size_t i = 0; i < records; i++)
        ids.push_back(40'000'000 + random() % (i % 3 ? 500 : 5'000'000));
    for (size_t i = records; i-- > 0;) {
        auto [at, is_new] = later.try_emplace(ids[i], 0);
        int64_t next = is_new ? -1 : at->second + base;
        at->second = static_cast<int64_t>(i);
        part = bytes_of(OracleRecord{static_cast<uint32_t>(5'633'898 + i / 7), ids[i],
                                     static_cast<uint32_t>(512 * (1 + ids[i] % 100)), next});
        std::reverse(part.begin(), part.end());
        all += part;
    }
    std::reverse(all.begin(), all.end());
    return all.substr(first * sizeof(OracleRecord), size);
}

void pieces_of_an_oracle(void **) {
    Folder folder;

    for (int64_t base : {0, 1})
        for (size_t records : {1, 2, 3, 10, 50, 500, 5000, 10'000, 19'999, 20'000}) {
            std::string piece = piece_of_oracle(0, 24 * records, base);
            Trace trace = read_trace(folder.file(piece));
            assert_true(trace.format == Format::oracle);
            assert_int_equal(trace.requests.size(), records);
            for (size_t rest : {4, 8, 12, 16, 21}) {
                auto error = refused(folder.file(piece.substr(0, piece.size() - rest)));
                assert_true(records <= 8 || has(error.sentence, "in the middle of a record"));
            }
        }
    // From its middle its next requests are those of others.
    refused(folder.file(piece_of_oracle(10, 24 * 5000, 0)));
}

/// As spreadsheets write them.
void texts_beyond_ascii(void **) {
    Folder folder;
    const std::string row = "1,READ,7\n2,Write,8\n";

    for (const char *head : {"handle,OP,gr\xc3\xb6\xc3\x9f"
                             "e\n",
                             "\xef\xbb\xbfhandle,op,x\n", "\xef\xbb\xbf"}) {
        Trace trace = read_trace(folder.file(head + row));
        assert_true(trace.format == Format::csv && trace.requests.size() == 2);
        assert_true(trace.requests[1].op == Operation::write);
    }
    std::string wide;
    for (char c : "handle,op\n" + row + row + row + row)
        wide.append(1, c).append(1, '\0');
    assert_true(has(refused(folder.file("\xff\xfe" + wide)).remedy, "UTF-8"));
}

/// Records of other programs, which have times, sizes and more, and programs
/// themselves.
void other_records(void **) {
    Folder folder;
    std::mt19937 random(4);
    std::string vscsi, twos, threes, falling, longs, program, addresses;

    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t id = random() % 500;
        uint32_t size = 512 * (1 + random() % 16);
        put(vscsi, uint32_t(i), size, uint32_t(1), uint16_t(0x28), uint16_t(0x100), id * 8,
            uint64_t(1'000'000 + i * 37));
        put(twos, i * 1000, id);
        put(longs, htobe64(1000 + id));
        put(addresses, 0x7f0000000000 + id * 4096);  // or numbers of 32 bits the other way round
        put(threes, i * 1000, id, uint64_t(size));
        put(falling, OracleRecord{uint32_t(90'000 - i / 7), id, size, -1});
        for (int byte = 0; byte < 8; byte++)
            program += static_cast<char>(random() % 4 ? random() % 16 * 9 : random());
    }
    for (const std::string &content : {vscsi, twos, threes, falling, longs, program, addresses})
        refused(folder.file(content));
    // Traces of numbers that look a little like records: scans that take turns, a
    // new object and an old one, a block of the journal now and then, a loop of a
    // few, addresses near each other.
    std::string copying, reread, journal, loop, near, large;
    for (uint64_t i = 0; i < 3000; i++) {
        put(copying, 1000 + i, 500'000 + i);
        put(reread, 1000 + i, 1000 + random() % (i + 1));
        put(loop, 1000 + i % 5);
        put(near, 0x7f5500000000 + random() % 500 * 4096);
        for (int k = 0; k < 4; k++)
            put(journal, uint64_t(k < 3 ? 1000 + random() % 50'000 : 7));
        put(large, htobe32(static_cast<uint32_t>(random() % 300 * 9'999'991)));
    }
    for (const std::string &content : {copying, reread, journal, loop, near})
        assert_true(read_trace(folder.file(content)).format == Format::u64le);
    assert_true(read_trace(folder.file(large)).format == Format::u32be);
    // As libCacheSim says that none comes next.
    std::string records;
    for (uint32_t i = 0; i < 100; i++)
        put(records, OracleRecord{i, 100 + i, 512, INT64_MAX});
    assert_true(read_trace(folder.file(records)).format == Format::oracle);
}

/// What may be more than one format is refused, with those that it may be.
void more_than_one_format(void **) {
    Folder folder;
    std::mt19937 random(2);
    std::string shifted, pairs, triples;
    auto names = [&](const std::string &content) {
        auto error = refused(folder.file(content));
        assert_true(has(error.sentence, "cannot be told") && has(error.remedy, "--format"));
        auto from = std::min(error.remedy.find(": "), error.remedy.size());
        return error.remedy.substr(from, error.remedy.find(". Other", from) - from);
    };

    for (uint64_t i = 0; i < 1001; i++) {
        uint32_t key = 0x80000000 | static_cast<uint32_t>(random() % 50);
        shifted += bytes_of(i << 8);
        pairs += bytes_of(key) + bytes_of(uint32_t(0x90000000 + i));
        triples += bytes_of(key) + bytes_of(~key) + bytes_of(uint32_t(0x90000000 + i));
    }
    assert_string_equal(names(std::string(100'000, 0)).c_str(), ": u32be u64le");
    assert_string_equal(names(std::string(12, 0)).c_str(), ": u32be");
    assert_string_equal(names(std::string(48, 0)).c_str(), ": u32be u64le oracle");
    assert_string_equal(names(std::string(13, 0)).c_str(), "");
    assert_string_equal(names(std::string(1 << 20, 0)).c_str(), ": u32be u64le oracle");
    assert_string_equal(names(shifted).c_str(), ": u32be u64le");
    assert_string_equal(names(le64({1, uint64_t(1) << 39, 1})).c_str(), ": u32be u64le oracle");
    names(pairs);
    names(triples);
}

/// Handles of 32 bits above 2^24 in an order in which each has always the same
/// one behind it: by what comes again, two of them could be a number of 64
/// bits.
void loops_of_handles(void **) {
    Folder folder;
    std::mt19937 random(6);
    std::vector<uint32_t> hashed(50);
    std::string pairs, near, wide;
    auto is_unclear = [&](const std::string &content) {
        auto error = refused(folder.file(content));
        assert_true(has(error.sentence, "cannot be told") && has(error.remedy, "u32be u64le"));
    };

    for (uint32_t &key : hashed)
        key = 0x80000000 | static_cast<uint32_t>(random());
    for (uint32_t objects : {3u, 4u, 50u, 51u, 64u})
        for (uint32_t stride : {1u, 64u, 4096u, 0x100001u}) {
            std::string loop;
            for (uint32_t i = 0; i < 6400; i++)
                loop += be32({0xc0000000 + i % objects * stride});
            is_unclear(loop);
        }
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t n = static_cast<uint32_t>(random() % 50);
        put(wide, htobe32(hashed[i % 50]));
        near += be32({0xc0000000 + 2 * n, 0xc0000001 + 2 * n});
        pairs += be32({0x10000001 + n, 0x20000001 + n});  // a QP and its CQ
    }
    is_unclear(wide);
    is_unclear(near);
    is_unclear(pairs);
    // Out of turn they are clear.
    std::string mixed;
    for (uint32_t i = 0; i < 6000; i++)
        mixed += be32({0xc0000000 + static_cast<uint32_t>(random() % 50)});
    assert_true(read_trace(folder.file(mixed)).format == Format::u32be);
}

/// Small numbers of 32 bits, little-endian, alone or behind a time.
void little_endian(void **) {
    Folder folder;
    std::mt19937 random(7);
    std::string ids, timed, large;

    for (uint32_t i = 0; i < 2000; i++) {
        put(ids, uint32_t(random() % 256));
        put(timed, 1000 + 3 * i, uint32_t(random() % 256));
        put(large, uint64_t(random() % 1000 << 30));
    }
    refused(folder.file(ids));
    refused(folder.file(timed));
    // Numbers above 2^32 are no halves.
    assert_true(read_trace(folder.file(large)).format == Format::u64le);
}

/// Times of 32 bits and objects of 64: two of these are as long as one of
/// libCacheSim's.
void times_and_objects(void **) {
    Folder folder;
    std::mt19937 random(8);
    std::string again, never;

    for (uint32_t i = 0; i < 1000; i++) {
        put(again, 5000 + i / 3, uint64_t(100'000 + random() % 50));
        put(never, 5000 + i / 3, uint64_t(100'000 + i));
    }
    refused(folder.file(again));
    refused(folder.file(never));
}

/// Whatever the rest looks like: here it is a good trace. What is packed is one under no name.
void files_of_other_kinds(void **) {
    using namespace std::string_literals;
    Folder folder;
    struct {
        std::string magic;
        const char *said;
        bool always = false;
    } const kinds[] = {{"\x1f\x8b\x08\0"s, "packed twice"},
                       {"\xfd\x37zXZ\0\0\0"s, "packed twice"},
                       {"\x28\xb5\x2f\xfd"s, "packed twice"},
                       {"\x7f\x45LF"s, "program"},
                       {"\x89PNG\r\n\x1a\n"s, "picture"},
                       {"\xde\x12\x04\x95"s, "translations"},
                       {"\x95\x04\x12\xde"s, "translations"},
                       {"PK\3\4"s, "is a zip archive", true},
                       {"BZh91AY&SY\0\0"s, "is packed by bzip2", true},
                       {"BZh11AY&SY\0\0"s, "is packed by bzip2", true},
                       {"BZh9\x17\x72\x45\x38\x50\x90\0\0"s, "is packed by bzip2", true},
                       {"\x1f\x9d\x90\0"s, "is packed by compress", true},
                       {"\x1f\x9d\x89\0"s, "is packed by compress", true},
                       {"\x04\x22\x4d\x18"s, "is packed by lz4", true},
                       {"\x02\x21\x4c\x18"s, "is packed by lz4", true},
                       {"7z\xbc\xaf\x27\x1c\0\0"s, "is a 7z archive", true},
                       {"Rar!\x1a\x07\0\0"s, "is a rar archive", true},
                       {"\x93NUMPY\1\0"s, "is an array of numpy", true}};
    std::string numbers;

    for (uint32_t i = 0; i < 1000; i++)
        numbers += be32({i % 100});
    for (const auto &[magic, said, always] : kinds) {
        // Packed, as what is packed once is no error.
        std::string content = magic + numbers, packed(ZSTD_compressBound(content.size()), 0);
        packed.resize(
            ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 1));
        auto error = refused(folder.file(packed));
        assert_int_equal(error.code, EBADMSG);
        assert_true(has(error.sentence, said) && !has(error.sentence, "cannot be told"));
        if (always)
            for (Format format : {Format::u32be, Format::u64le, Format::csv, Format::ds})
                assert_true(has(refused(folder.file(content), {.format = format}).sentence, said));
        else
            assert_true(read_trace(folder.file(packed), {.format = Format::u32be}).requests.size() >
                        1000);
    }
    // Two bytes, or three letters, are those of many a number, too.
    for (const std::string &begin : {"\x1f\x9d\0\0"s, "\x1f\x9d\x88\0"s, "\x1f\x9d\x91\0"s, "BZh9"s,
                                     "\x1f\x8b\0\0"s, "\x1f\x8b\x09\0"s, "\x1f\x8b\x08\x20"s})
        assert_true(
            read_trace(folder.file(begin + numbers), {.format = Format::u32be}).requests.size() >
            1000);
}

/// Those that do not name their format have a sum of their first 512 bytes in octal digits.
void old_archives(void **) {
    Folder folder;
    std::string header = "a.trace", numbers;

    header.resize(512);
    header.replace(100, 8, "0000644 ").replace(124, 12, "00000007640 ");
    uint32_t sum = 8 * ' ';
    for (char c : header)
        sum += static_cast<uint8_t>(c);
    for (uint32_t i = 0; i < 1000; i++)
        numbers += be32({i % 100});
    for (const char *how : {"%06o", "%6o", "%07o"}) {
        std::string archive = header;
        auto with = [&](uint32_t said) {
            std::array<char, 9> digits{};
            std::snprintf(digits.data(), digits.size(), how, said);
            return archive.replace(148, 8, digits.data(), 8) + numbers;
        };
        for (Format format : {Format::u32be, Format::u64le, Format::csv})
            assert_true(has(refused(folder.file(with(sum)), {.format = format}).sentence,
                            "is a tar archive"));
        for (uint32_t wrong : {sum - 1, sum + 1, 0U})
            assert_int_equal(
                read_trace(folder.file(with(wrong)), {.format = Format::u32be}).requests.size(),
                128 + 1000);
        // A part of one, which is read as what it is said to be.
        std::string cut = with(sum).substr(0, 508);
        assert_int_equal(read_trace(folder.file(cut), {.format = Format::u32be}).requests.size(),
                         127);
    }
}

/// In their first bytes, of which one alone says nothing.
void files_that_were_cut_at_once(void **) {
    using namespace std::string_literals;
    Folder folder;
    const std::pair<std::string, std::string> kinds[] = {
        {"DSTRACE1", "a ds trace"},
        {"\x1f\x8b\x08", "a file packed by gzip"},
        {"\xfd\x37zXZ\0"s, "a file packed by xz"},
        {"\x28\xb5\x2f\xfd", "a file packed by zstd"},
        {"BZh91AY&SY", "a file packed by bzip2"},
        {"\x1f\x9d\x90", "a file packed by compress"},
        {"\x04\x22\x4d\x18", "a file packed by lz4"},
        {"7z\xbc\xaf\x27\x1c", "a 7z archive"},
        {"Rar!\x1a\x07", "a rar archive"},
        {"PK\3\4", "a zip archive"},
        {"\x93NUMPY", "an array of numpy"},
        {"\x7f\x45LF", "a program"},
        {"\x89PNG\r\n\x1a\n", "a picture"},
    };

    for (const auto &[magic, begins] : kinds)
        for (size_t length = 2; length < magic.size(); length++) {
            auto error = refused(folder.file(magic.substr(0, length)));
            assert_true(has(error.sentence, "' was cut: it begins as " + begins + " does."));
            assert_true(has(error.remedy, "Get the file again"));
        }
    assert_false(has(refused(folder.file("D")).sentence, "cut"));
    // With more behind it, it is no beginning.
    assert_false(has(refused(folder.file("DSTRACE2")).sentence, "cut"));
    // What is packed by gzip is unpacked from three bytes on.
    assert_true(
        has(refused(folder.file("\x1f\x8b\x08")).sentence, "in the middle of its compressed"));
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_format_at_all),
        cmocka_unit_test(zstd_behind_what_is_to_be_skipped),
        cmocka_unit_test(hashed_keys),
        cmocka_unit_test(pieces_of_an_oracle),
        cmocka_unit_test(texts_beyond_ascii),
        cmocka_unit_test(other_records),
        cmocka_unit_test(more_than_one_format),
        cmocka_unit_test(loops_of_handles),
        cmocka_unit_test(little_endian),
        cmocka_unit_test(times_and_objects),
        cmocka_unit_test(files_of_other_kinds),
        cmocka_unit_test(old_archives),
        cmocka_unit_test(files_that_were_cut_at_once),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
