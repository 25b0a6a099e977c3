// SPDX-License-Identifier: Apache-2.0
#include "kernels/rmsnorm/rmsnorm_cpu.h"

#include <cmath>

#include "tests/kernels/norm_cases.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;

NormKind kind() {
    return {rmsnorm_forward, rmsnorm_backward, 1, 1, rmsnorm_definition};
}

template <class Law>
void for_drawn(const Law& law) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(std::to_string(seed) + " " + std::string{name(dtype)});
            law(seed, dtype);
        }
    }
}

TEST(RmsnormCpu, ForwardIsItsDefinition) {
    for_drawn([](auto seed, Dtype dtype) { check_norm_forward(kind(), seed, dtype); });
}

TEST(RmsnormCpu, BackwardIsTheDerivativeAndAdds) {
    for_drawn([](auto seed, Dtype dtype) { check_norm_gradients(kind(), seed, dtype); });
}

TEST(RmsnormCpu, FusedAdditionIsTheAdditionThenTheNorm) {
    for_drawn([](auto seed, Dtype dtype) { check_norm_residual(kind(), seed, dtype); });
}

TEST(RmsnormCpu, StatisticsGivenOrComputedAgainAreTheSame) {
    for_drawn([](auto seed, Dtype dtype) { check_norm_statistics(kind(), seed, dtype); });
}

}  // namespace
}  // namespace orrery::cpu
