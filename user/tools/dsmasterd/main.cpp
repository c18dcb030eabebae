// SPDX-License-Identifier: Apache-2.0
// dsmasterd: the master of an object store (docs/objstore.md).
#include <ds/ds.h>
#include <getopt.h>
#include <sys/random.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "error.hpp"
#include "fabric/handles.hpp"
#include "fabric/local_reason.hpp"
#include "folder.hpp"
#include "master.hpp"
#include "pool/superblock.hpp"
#include "store/label.hpp"
#include "store/store.hpp"
#include "term.hpp"

namespace dsmasterd {
namespace {

constexpr char usage[] =
    "usage: dsmasterd --store FOLDER [--create] [--fabric DEVICE] [--space N] [--port N]\n"
    "\n"
    "Serves the object store whose metadata are in FOLDER (docs/objstore.md).\n"
    "\n"
    "  --store FOLDER   of the metadata; one master at a time uses it\n"
    "  --create         make a store: in an empty FOLDER, of the whole space\n"
    "  --fabric DEVICE  /dev/ds, or local:PATH for a pool in a file\n"
    "                   (default: DS_FABRIC in the environment, else /dev/ds)\n"
    "  --space N        the space that is the store's memory (default 1)\n"
    "  --port N         service port, 256 to 65535 (default 512)\n"
    "  --help, --version\n"
    "\n"
    "It says that it is ready on standard output, and ends by SIGTERM or SIGINT.\n";

struct Options {
    std::string store;
    std::string fabric;
    uint32_t space = 1;
    uint32_t port = DS_STORE_PORT;
    bool create = false;
};

std::atomic<bool> stop{false};

[[noreturn]] void wrong(const std::string &sentence) {
    throw Refused(sentence, "see 'dsmasterd --help'", 2);
}

uint32_t number(const char *text, const char *name, uint32_t least, uint32_t most) {
    char *end;
    errno = 0;
    unsigned long long value = std::strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-' || value < least || value > most)
        wrong(std::string(name) + " is a number from " + std::to_string(least) + " to " +
              std::to_string(most) + ", not '" + text + "'");
    return static_cast<uint32_t>(value);
}

Options parse(int argc, char **argv) {
    enum { store_option = 1, create_option, fabric_option, space_option, port_option };
    static const option known[] = {{"store", required_argument, nullptr, store_option},
                                   {"create", no_argument, nullptr, create_option},
                                   {"fabric", required_argument, nullptr, fabric_option},
                                   {"space", required_argument, nullptr, space_option},
                                   {"port", required_argument, nullptr, port_option},
                                   {"help", no_argument, nullptr, 'h'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {nullptr, 0, nullptr, 0}};
    Options options;
    const char *fabric = std::getenv("DS_FABRIC");
    options.fabric = fabric ? fabric : "/dev/ds";
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "hV", known, nullptr)) != -1;) {
        switch (c) {
        case store_option:
            options.store = optarg;
            break;
        case create_option:
            options.create = true;
            break;
        case fabric_option:
            options.fabric = optarg;
            break;
        case space_option:
            options.space = number(optarg, "--space", 1, UINT32_MAX);
            break;
        case port_option:
            options.port = number(optarg, "--port", DS_SERVICE_USER_FIRST, DS_SERVICE_USER_LAST);
            break;
        case 'h':
            std::fputs(usage, stdout);
            std::exit(0);
        case 'V':
            std::puts("dsmasterd " DS_VERSION);
            std::exit(0);
        default:
            wrong(std::string("unknown or incomplete option '") + argv[optind - 1] + "'");
        }
    }
    if (optind < argc)
        wrong(std::string("unexpected word '") + argv[optind] + "'");
    if (options.store.empty())
        wrong("say where the store's metadata are: --store FOLDER");
    return options;
}

[[noreturn]] void refuse(const std::string &what, int rc, int status) {
    throw Refused(what + ": " + ds_strerror(rc), ds_remedy(rc), status);
}

[[noreturn]] void refuse_fabric(const std::string &device, int rc) {
    constexpr std::string_view prefix = DS_LOCAL_PREFIX;

    if (!device.starts_with(prefix))
        refuse("cannot open '" + device + "'", rc, 3);
    auto [sentence, remedy] = ds::fabric::local_reason(rc, device.substr(prefix.size()));
    throw Refused(sentence, remedy.empty() ? ds_remedy(rc) : remedy, rc == -ENOENT ? 4 : 3);
}

struct Handles {
    explicit Handles(const Options &options) {
        ds_fabric_options o{};
        o.size = sizeof(o);
        o.device = options.fabric.c_str();
        if (int rc = ds_fabric_open(&o, &fabric); rc < 0)
            refuse_fabric(options.fabric, rc);
        if (int rc = ds_space_open(fabric, options.space, DS_ACCESS_ALL, &space); rc < 0) {
            ds_fabric_close(fabric);
            refuse("cannot open space " + std::to_string(options.space), rc, 4);
        }
    }
    Handles(const Handles &) = delete;
    Handles &operator=(const Handles &) = delete;
    ~Handles() {
        pool.reset();
        ds_service_close(service);
        ds_space_close(space);
        ds_fabric_close(fabric);
    }

    ds_fabric *fabric = nullptr;
    ds_space *space = nullptr;
    ds_service *service = nullptr;
    std::unique_ptr<ds::pool::Pool> pool;
};

Shape shape_for(const Handles &handles, uint64_t store) {
    const ds::fabric::SpaceInfo &info = handles.space->info;
    return {.store = store,
            .space = info.number,
            .servers = info.servers,
            .server_shift = info.server_shift};
}

uint64_t random_number() {
    uint64_t n = 0;
    while (n == 0)
        if (getrandom(&n, sizeof(n), 0) != sizeof(n))
            throw Refused("the kernel gives no random numbers", "see getrandom(2)");
    return n;
}

// What the metadata say of the space has to be so.
void compare(const Shape &shape, const Shape &found) {
    if (shape.space != found.space)
        throw Refused("this store is in space " + std::to_string(shape.space) + ", not " +
                          std::to_string(found.space),
                      "start with --space " + std::to_string(shape.space), 2);
    if (shape.servers != found.servers || shape.server_shift != found.server_shift)
        throw Refused("the space has another shape than when the store was made",
                      "give the space its old shape, or make a store in another folder");
}

// May a new store have the space?
void check_unused(ds_space *space) {
    uint64_t label;
    ds_tree_info trees[DS_TREE_MAX_ID];
    if (ds::store::read_label(space, label) == 0)
        throw Refused("the space belongs to another store",
                      "start with the folder of that one, or choose another space", 5);
    if (ds_tree_list(space, trees) > 0)
        throw Refused("there are trees in the space", "choose another space", 5);
}

// Makes the space a pool, if it is none, and this store's.
int take_space(ds_space *space, uint64_t store, Folder &folder) {
    int rc = ds::pool::Pool::format(space);
    if (rc == -EEXIST)
        rc = ds::pool::check_superblock(space);
    if (rc == -ENOENT || rc == -EINVAL)
        throw Refused("the space holds something else", "use a space that is all zeros", 5);
    if (rc < 0)
        return rc;
    folder.keep();
    return ds::store::write_label(space, store);
}

// Is the space this store's? With no objects yet it may become so.
void check_label(ds_space *space, uint64_t store, bool empty, Folder &folder) {
    uint64_t label = 0;
    int rc = ds::store::read_label(space, label);
    if (rc == -ENOENT && empty) {
        rc = take_space(space, store, folder);
        if (rc == 0)
            return;
    }
    if (rc == -ENOENT)
        throw Refused("the space's memory is new: what this store had there is gone",
                      "make a new store: with --create, in another folder");
    if (rc < 0 && rc != -EEXIST)
        refuse("cannot look into the space", rc, 3);
    if (label != store)
        throw Refused("the space belongs to another store",
                      "start with the folder of that one, or choose another space", 5);
}

int run(const Options &options) {
    Folder folder(options.store, options.create);
    Catalogue catalogue(folder.metadata());
    Handles handles(options);
    std::optional<Shape> shape = catalogue.shape();
    if (!shape && !options.create)
        throw Refused("there is no store in '" + options.store + "'", "make one with --create", 4);
    if (shape && options.create)
        throw Refused("there is a store in '" + options.store + "' already",
                      "start without --create", 5);
    if (!shape) {
        shape = shape_for(handles, random_number());
        check_unused(handles.space);
        catalogue.make(*shape);
    }
    compare(*shape, shape_for(handles, shape->store));
    check_label(handles.space, shape->store, catalogue.is_empty(), folder);
    if (int rc = ds::pool::Pool::join(handles.space, handles.pool); rc < 0)
        refuse("cannot join the pool in space " + std::to_string(options.space), rc, 3);
    if (int rc = ds_service_bind(handles.fabric, options.port, 1024, &handles.service); rc < 0)
        refuse("cannot bind port " + std::to_string(options.port), rc, 5);
    uint32_t epoch;
    if (int rc = begin_term(handles.space, *handles.pool, catalogue, epoch); rc < 0)
        refuse("cannot take the space over", rc, 3);
    Master master(handles.space, handles.pool, catalogue, *shape, epoch);
    std::printf("dsmasterd: store %016llx serves space %u at port %u, epoch %u: %llu objects\n",
                static_cast<unsigned long long>(shape->store), shape->space, options.port, epoch,
                static_cast<unsigned long long>(master.account().objects));
    std::fflush(stdout);
    master.serve(handles.service, stop);
    if (handles.pool)
        end_term(handles.space, catalogue);
    return 0;
}

int fail(const std::string &sentence, const std::string &remedy, int status) {
    std::fprintf(stderr, "dsmasterd: %s\n  fix: %s\n", sentence.c_str(), remedy.c_str());
    return status;
}

}  // namespace
}  // namespace dsmasterd

int main(int argc, char **argv) {
    using namespace dsmasterd;
    std::signal(SIGTERM, [](int) { stop = true; });
    std::signal(SIGINT, [](int) { stop = true; });
    std::signal(SIGXFSZ, SIG_IGN);  // write(2) says it too
    std::signal(SIGPIPE, SIG_IGN);  // nobody reads what we say: that is no reason to end
    try {
        return run(parse(argc, argv));
    } catch (const Refused &refused) {
        return fail(refused.what(), refused.remedy, refused.status);
    } catch (const Full &full) {
        return fail(std::string("the metadata cannot be written: ") + full.what(),
                    "make room in the file system of the store's folder", 1);
    } catch (const Broken &broken) {
        return fail(std::string("the metadata cannot be used: ") + broken.what(),
                    "look at the file system of the store's folder; start again", 1);
    } catch (const std::bad_alloc &) {
        return fail("there is not enough memory", "stop other programs, or add memory", 1);
    }
}
