// SPDX-License-Identifier: Apache-2.0
// Functions compiled for several vector widths; at run time the widest that this CPU supports is
// used. All give the same bits: lanes are independent, and multiply-add is never fused
// (-ffp-contract=off). The choice is a variable, not made at load time (target_clones), so that a
// test can run every clone on one machine, also under sanitizers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#define ORRERY_TARGET_AVX2 __attribute__((target("avx2")))
#define ORRERY_TARGET_AVX512 __attribute__((target("avx512f")))
#else
#define ORRERY_TARGET_AVX2
#define ORRERY_TARGET_AVX512
#endif

// Goes after the parameters of a lambda for run_vectorised().
#define ORRERY_VECTORISED __attribute__((always_inline))

namespace orrery {

enum class VectorClone : std::uint8_t { baseline, avx2, avx512 };

std::string_view to_string(VectorClone clone);
// The clones that this CPU can run, narrowest first. Other architectures have only the baseline.
std::vector<VectorClone> vector_clones();
// The clone in use: the widest, unless another was chosen.
VectorClone vector_clone();
// Sets the clone for all threads, for tests and benchmarks. It must be one of vector_clones().
void use_vector_clone(VectorClone clone);

namespace vector_clone_detail {

template <class Body, class... Arguments>
ORRERY_TARGET_AVX2 auto run_avx2(const Body& body, Arguments... arguments) {
    return body(arguments...);
}
template <class Body, class... Arguments>
ORRERY_TARGET_AVX512 auto run_avx512(const Body& body, Arguments... arguments) {
    return body(arguments...);
}

}  // namespace vector_clone_detail

// Calls `body`, a lambda marked ORRERY_VECTORISED without captures, with these arguments. It is
// inlined into a function for each width, where the compiler vectorises its loops.
template <class Body, class... Arguments>
auto run_vectorised(const Body& body, Arguments... arguments) {
    switch (vector_clone()) {
        case VectorClone::avx512:
            return vector_clone_detail::run_avx512(body, arguments...);
        case VectorClone::avx2:
            return vector_clone_detail::run_avx2(body, arguments...);
        case VectorClone::baseline:
            break;
    }
    return body(arguments...);
}

}  // namespace orrery
