// SPDX-License-Identifier: Apache-2.0
// ds/store.hpp, above functions of ds/store.h that the test has in their stead.
#include <ds/store.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "user_cmocka.hpp"
#include "user_device.hpp"

namespace {

using std::chrono::milliseconds;

// What the master and the memory servers say.
struct {
    std::string bytes;
    std::function<int(uint32_t timeout_ms)> on_stat = nullptr;
    std::function<int(const ds_store_get_options &)> on_get = nullptr;
    std::vector<std::string> keys{};
    int list_rc = 0;
} fake_store;

int setup(void **) {
    fake::device.reset();
    fake_store = {};
    return 0;
}

struct World {
    ds::Fabric fabric = ds::Fabric::open().or_throw();
    ds::Store store = ds::Store::open(fabric).or_throw();
};

}  // namespace

int ds_store_open(ds_fabric *, const ds_store_options *, ds_store **store) {
    *store = reinterpret_cast<ds_store *>(&fake_store);
    return 0;
}

void ds_store_close(ds_store *) {}

int ds_store_put(ds_store *, const void *, size_t, const iovec *parts, size_t,
                 const ds_store_put_options *, int64_t *version) {
    fake_store.bytes.assign(static_cast<const char *>(parts->iov_base), parts->iov_len);
    *version = 1;
    return 0;
}

int ds_store_get(ds_store *, const void *, size_t, const iovec *parts, size_t,
                 const ds_store_get_options *options, ds_store_object *object) {
    if (int rc = fake_store.on_get ? fake_store.on_get(*options) : 0; rc < 0)
        return rc;
    if (options->offset < fake_store.bytes.size())
        object->copied = fake_store.bytes.copy(static_cast<char *>(parts->iov_base), parts->iov_len,
                                               options->offset);
    return 0;
}

int ds_store_stat(ds_store *, const void *, size_t, uint32_t timeout_ms, ds_store_object *object) {
    if (int rc = fake_store.on_stat ? fake_store.on_stat(timeout_ms) : 0; rc < 0)
        return rc;
    object->version = 1;
    object->length = fake_store.bytes.size();
    return 0;
}

// As the library does: an exception that comes here ends the program.
int ds_store_list(ds_store *, const void *, size_t, const void *, size_t, uint32_t,
                  ds_store_entry_fn entry, void *arg) {
    auto each = [&]() noexcept {
        for (const std::string &key : fake_store.keys) {
            ds_store_object object{};
            if (entry(arg, key.data(), key.size(), &object))
                return 0;
        }
        return fake_store.list_rc;
    };
    return each();
}

namespace {

void what_is_put_is_got(void **) {
    World w;
    std::string text = "some bytes";
    assert_int_equal(w.store.put("k", std::as_bytes(std::span(text))).or_throw(), 1);
    auto all = w.store.get("k").or_throw();
    assert_true(std::memcmp(all.data(), text.data(), text.size()) == 0);
    assert_int_equal(w.store.get("k", {.offset = 5}).or_throw().size(), 5);
    assert_int_equal(w.store.get("k", {.offset = 50}).or_throw().size(), 0);
}

void a_list_may_end_early(void **) {
    World w;
    fake_store.keys = {"a", "b", "c"};
    std::string met;
    auto until_b = [&](std::string_view key, const ds_store_object &) {
        met += key;
        return key != "b";
    };
    assert_true(w.store.list("", "", until_b).ok());
    assert_string_equal(met.c_str(), "ab");
    fake_store.list_rc = -ETIMEDOUT;
    assert_int_equal(w.store.list("", "", [](auto &&...) { return true; }).error().code, ETIMEDOUT);
}

void what_a_list_throws_comes_out(void **) {
    World w;
    fake_store.keys = {"a", "b", "c"};
    std::string met, thrown;
    try {
        (void)w.store.list("", "", [&](std::string_view key, const ds_store_object &) {
            met += key;
            return key == "b" ? throw std::runtime_error("enough") : true;
        });
    } catch (const std::runtime_error &error) {
        thrown = error.what();
    }
    assert_string_equal(thrown.c_str(), "enough");
    assert_string_equal(met.c_str(), "ab");
}

// One that was overwritten is read again; but not for ever.
void overwritten_all_the_time(void **) {
    World w;
    int gets = 0;
    fake_store.bytes = "bytes";
    fake_store.on_get = [&](const ds_store_get_options &options) {
        assert_int_equal(options.version, 1);
        return ++gets < 3 ? -ESTALE : 0;
    };
    assert_int_equal(w.store.get("k").or_throw().size(), 5);
    assert_int_equal(gets, 3);
    assert_int_equal(w.store.get("k", {.version = 1}).or_throw().size(), 5);

    uint32_t asked = 0, left = UINT32_MAX;
    fake_store.on_stat = [&](uint32_t timeout_ms) {
        assert_in_range(timeout_ms, 1, std::min(left, 2000u));
        left = timeout_ms;
        asked++;
        return 0;
    };
    fake_store.on_get = [&](const ds_store_get_options &options) {
        assert_in_range(options.timeout_ms, 1, left);
        std::this_thread::sleep_for(milliseconds(400));
        return asked < 1000 ? -ESTALE : 0;
    };
    auto late = w.store.get("k", {.timeout = ds::Timeout(2000)});
    assert_false(late.ok());
    assert_int_equal(late.error().code, ETIMEDOUT);
    assert_in_range(asked, 2, 6);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup(f, setup)
    const CMUnitTest tests[] = {
        TEST(what_is_put_is_got),
        TEST(a_list_may_end_early),
        TEST(what_a_list_throws_comes_out),
        TEST(overwritten_all_the_time),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
