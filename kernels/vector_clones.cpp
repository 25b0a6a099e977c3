// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_clones.h"

#include <algorithm>
#include <atomic>

#include "engine/base/check.h"

namespace orrery {
namespace {

std::atomic<VectorClone>& clone_in_use() {
    static std::atomic<VectorClone> clone{vector_clones().back()};
    return clone;
}

}  // namespace

std::string_view to_string(VectorClone clone) {
    switch (clone) {
        case VectorClone::avx512:
            return "avx512";
        case VectorClone::avx2:
            return "avx2";
        case VectorClone::baseline:
            break;
    }
    return "baseline";
}

std::vector<VectorClone> vector_clones() {
    std::vector<VectorClone> clones{VectorClone::baseline};
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") != 0) {
        clones.push_back(VectorClone::avx2);
    }
    if (__builtin_cpu_supports("avx512f") != 0) {
        clones.push_back(VectorClone::avx512);
    }
#endif
    return clones;
}

VectorClone vector_clone() {
    return clone_in_use().load(std::memory_order_relaxed);
}

void use_vector_clone(VectorClone clone) {
    const std::vector<VectorClone> clones = vector_clones();
    ORRERY_CHECK(std::find(clones.begin(), clones.end(), clone) != clones.end());
    clone_in_use().store(clone, std::memory_order_relaxed);
}

}  // namespace orrery
