// SPDX-License-Identifier: Apache-2.0
// The files of the local fabric through ds/ds.h: those that are none, and how one is made.
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "user_local.hpp"

namespace {

using local::Folder;

std::string contents(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    std::string text(64, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(in.gcount()));
    return text;
}

void put(const std::string &path, size_t offset, const std::string &bytes) {
    std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

int try_open(const std::string &path) {
    ds_fabric *fabric;
    int rc = local::open(path, &fabric);
    if (rc == 0)
        ds_fabric_close(fabric);
    return rc;
}

void files_that_are_no_pool(void **) {
    Folder folder;
    assert_int_equal(try_open(folder.file("none")), -ENOENT);
    assert_int_equal(try_open(folder.path()), -EINVAL);
    assert_int_equal(try_open("/dev/null"), -EINVAL);
    assert_int_equal(try_open(""), -ENOENT);
    mkfifo(folder.file("fifo").c_str(), 0600);
    assert_int_equal(try_open(folder.file("fifo")), -EINVAL);
    for (const std::string &text : {std::string(), std::string("DSLOCAL\n"),
                                    std::string(4096, '\0'), std::string(100000, 'x')}) {
        std::ofstream(folder.file("text")) << text;
        assert_int_equal(try_open(folder.file("text")), -EINVAL);
    }
}

void files_that_were_cut_or_grew(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    uint64_t whole = std::filesystem::file_size(folder.file());
    for (uint64_t bytes : {whole - 1, whole / 2, uint64_t{48}}) {
        std::filesystem::resize_file(folder.file(), bytes);
        assert_int_equal(try_open(folder.file()), -ENODATA);
    }
    for (uint64_t bytes : {uint64_t{0}, uint64_t{7}, uint64_t{47}}) {
        std::filesystem::resize_file(folder.file(), bytes);
        assert_int_equal(try_open(folder.file()), -EINVAL);
    }
    Folder other;
    assert_int_equal(ds_local_create(other.file().c_str(), nullptr), 0);
    std::filesystem::resize_file(other.file(), whole + 1);
    assert_int_equal(try_open(other.file()), -EINVAL);
}

void every_byte_of_the_header_is_checked(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    assert_int_equal(try_open(folder.file()), 0);
    std::string good = contents(folder.file()).substr(0, 48);
    for (size_t i = 0; i < good.size(); i++) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 0x41);
        put(folder.file(), 0, bad);
        // A greater number of the version is one that we need not understand.
        assert_int_equal(try_open(folder.file()), i >= 8 && i < 12 ? -EOPNOTSUPP : -EINVAL);
    }
    put(folder.file(), 0, good);
    assert_int_equal(try_open(folder.file()), 0);
}

void create_refuses(void **) {
    Folder folder;
    std::string name = folder.file();
    const char *path = name.c_str();
    ds_local_options bad[] = {local::shape(1025), local::shape(1, 23), local::shape(1, 41),
                              local::shape(1),    local::shape(1),     local::shape(1)};
    bad[3].access = 8;
    bad[4].mode = 010000;
    bad[5].size = 2;
    for (const ds_local_options &options : bad)
        assert_int_equal(ds_local_create(path, &options), -EINVAL);
    assert_int_equal(ds_local_create((folder.path() + "/no/pool").c_str(), nullptr), -ENOENT);
    assert_true(std::filesystem::is_empty(folder.path()));

    // What is there stays as it is, whatever it is.
    std::ofstream(path) << "precious";
    assert_int_equal(ds_local_create(path, nullptr), -EEXIST);
    assert_string_equal(contents(path).c_str(), "precious");
    assert_int_equal(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

void create_and_describe(void **) {
    Folder folder;
    std::string name = folder.file();
    ds_local_options options = local::shape(3, 26), found{};
    options.space = 7;
    options.access = DS_ACCESS_READ | DS_ACCESS_ATOMIC;
    options.mode = 0640;
    assert_int_equal(ds_local_create(name.c_str(), &options), 0);
    found.size = sizeof(found);
    assert_int_equal(ds_local_describe(name.c_str(), &found), 0);
    assert_int_equal(found.space, 7);
    assert_int_equal(found.servers, 3);
    assert_int_equal(found.server_shift, 26);
    assert_int_equal(found.access, DS_ACCESS_READ | DS_ACCESS_ATOMIC);
    struct stat status;
    assert_int_equal(stat(name.c_str(), &status), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(status.st_mode & 0777, 0640 & ~mask);
    assert_true(status.st_size > 3 << 26);
    assert_true(status.st_blocks < 100);  // sparse
    assert_int_equal(ds_local_describe(folder.path().c_str(), &found), -EINVAL);
    found.size = 0;
    assert_int_equal(ds_local_describe(name.c_str(), &found), -EINVAL);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_pool),
        cmocka_unit_test(files_that_were_cut_or_grew),
        cmocka_unit_test(every_byte_of_the_header_is_checked),
        cmocka_unit_test(create_refuses),
        cmocka_unit_test(create_and_describe),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
