// SPDX-License-Identifier: Apache-2.0
#include "engine/base/large_pages.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace orrery {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;
// glibc's greatest threshold for mmap: smaller blocks come from the heap.
constexpr int kOwnMapping = 32 << 20;

}  // namespace

void prefer_large_pages(std::size_t bytes) {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
    static std::atomic<bool> done = false;
    if (bytes > std::size_t{1} << 30 || done.exchange(true)) {
        return;
    }
    mallopt(M_MMAP_THRESHOLD, kOwnMapping);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    // The heap grows once by the whole size, so that one madvise covers it. Afterwards it grows by
    // glibc's usual steps.
    mallopt(M_TOP_PAD, static_cast<int>(bytes));
    void* volatile block = std::malloc(4 * kPage);  // volatile: the compiler must not remove it
    std::free(block);
    mallopt(M_TOP_PAD, 128 << 10);
    const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) / kPage * kPage;
    const std::uintptr_t size = bytes / kPage * kPage;
    if (size < end) {
        madvise(reinterpret_cast<void*>(end - size), size, MADV_HUGEPAGE);
    }
#else
    static_cast<void>(bytes);
#endif
}

}  // namespace orrery
