// SPDX-License-Identifier: Apache-2.0
// Preloaded (LD_PRELOAD), lets one call of the program fail as a sick disk or a lack of memory
// does:
//   ORRERY_FAIL=CALL:K:ERROR  the K-th such call, counted from 1, fails with that errno; "K+" each
//                             from then on; for a write, errno 0 takes half of the bytes only
//   ORRERY_FAIL_UNDER=PATH    where calls have files: those under PATH, and none else, are counted
//   ORRERY_FAIL_COUNT=FILE    "CALL COUNT" lines at the end
// CALL: open, read, write, fsync, close, rename, mkdir, map or malloc.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>

namespace {

enum Call { kOpen, kRead, kWrite, kFsync, kClose, kRename, kMkdir, kMap, kMalloc, kCalls };
constexpr const char* kNames[] = {
    "open", "read", "write", "fsync", "close", "rename", "mkdir", "map", "malloc"};

struct Plan {
    int call = -1;
    long at = 0;
    bool lasts = false;
    int error = 0;
    const char* under = nullptr;
    bool ready = false;
};

Plan plan;
std::atomic<long> counts[kCalls];

template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

__attribute__((constructor)) void read_plan() {
    plan.under = getenv("ORRERY_FAIL_UNDER");
    if (const char* text = getenv("ORRERY_FAIL")) {
        for (int call = 0; call < kCalls; ++call) {
            const size_t length = strlen(kNames[call]);
            if (strncmp(text, kNames[call], length) == 0 && text[length] == ':') {
                char* end = nullptr;
                plan.call = call;
                plan.at = strtol(text + length + 1, &end, 10);
                plan.lasts = *end == '+';
                plan.error = atoi(end + (plan.lasts ? 2 : 1));
            }
        }
    }
    plan.ready = true;
}

__attribute__((destructor)) void write_counts() {
    const char* name = getenv("ORRERY_FAIL_COUNT");
    plan.call = -1;
    if (FILE* file = name == nullptr ? nullptr : fopen(name, "w")) {
        for (int call = 0; call < kCalls; ++call) {
            fprintf(file, "%s %ld\n", kNames[call], counts[call].load());
        }
        fclose(file);
    }
}

bool is_under(const char* path) {
    return plan.under == nullptr || strncmp(path, plan.under, strlen(plan.under)) == 0;
}

bool is_under(int file) {
    if (plan.under == nullptr) {
        return true;
    }
    char link[32];
    char path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) {
        return false;
    }
    path[length] = '\0';
    return is_under(path);
}

// Counts, and says whether this one is to fail.
bool fails(Call call) {
    const long number = ++counts[call];
    if (!plan.ready || plan.call != call || number < plan.at || (number > plan.at && !plan.lasts)) {
        return false;
    }
    errno = plan.error;
    return true;
}

template <class Where>
bool fails(Call call, Where where) {
    return plan.ready && is_under(where) && fails(call);
}

mode_t mode_of(int flags, va_list arguments) {
    return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    static const auto real = next<int (*)(const char*, int, mode_t)>("open");
    return fails(kOpen, path) ? -1 : real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    static const auto real = next<int (*)(const char*, int, mode_t)>("open64");
    return fails(kOpen, path) ? -1 : real(path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
    static const auto real = next<FILE* (*)(const char*, const char*)>("fopen");
    return fails(kOpen, path) ? nullptr : real(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
    static const auto real = next<FILE* (*)(const char*, const char*)>("fopen64");
    return fails(kOpen, path) ? nullptr : real(path, mode);
}

ssize_t read(int file, void* bytes, size_t size) {
    static const auto real = next<ssize_t (*)(int, void*, size_t)>("read");
    return fails(kRead, file) ? -1 : real(file, bytes, size);
}

ssize_t write(int file, const void* bytes, size_t size) {
    static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
    if (fails(kWrite, file)) {
        return plan.error == 0 ? real(file, bytes, (size + 1) / 2) : -1;
    }
    return real(file, bytes, size);
}

ssize_t writev(int file, const iovec* pieces, int count) {
    static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
    if (fails(kWrite, file)) {
        return plan.error == 0 ? real(file, pieces, 1) : -1;
    }
    return real(file, pieces, count);
}

size_t fwrite(const void* bytes, size_t size, size_t count, FILE* file) {
    static const auto real = next<size_t (*)(const void*, size_t, size_t, FILE*)>("fwrite");
    return fails(kWrite, fileno(file)) ? 0 : real(bytes, size, count, file);
}

int fsync(int file) {
    static const auto real = next<int (*)(int)>("fsync");
    return fails(kFsync, file) ? -1 : real(file);
}

int close(int file) {
    static const auto real = next<int (*)(int)>("close");
    const bool failing = fails(kClose, file);
    const int error = errno;
    const int done = real(file);
    if (failing) {
        errno = error;
    }
    return failing ? -1 : done;
}

int rename(const char* from, const char* to) {
    static const auto real = next<int (*)(const char*, const char*)>("rename");
    return fails(kRename, to) ? -1 : real(from, to);
}

int mkdir(const char* path, mode_t mode) {
    static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
    return fails(kMkdir, path) ? -1 : real(path, mode);
}

void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
    static const auto real = next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap");
    return file >= 0 && fails(kMap, file) ? MAP_FAILED
                                          : real(at, size, protection, flags, file, offset);
}

// dlsym() itself asks for memory.
void* __libc_malloc(size_t size);
void* malloc(size_t size) {
    if (plan.ready && plan.under == nullptr && fails(kMalloc)) {
        return nullptr;
    }
    return __libc_malloc(size);
}
}
