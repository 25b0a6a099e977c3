// SPDX-License-Identifier: Apache-2.0
#include "kernels/layernorm/layernorm_cpu.h"

#include "tests/kernels/norm_cases.h"

namespace orrery::cpu {
namespace {

NormKind layernorm_kind() {
    return {layernorm_forward, layernorm_backward, 2, 2, layernorm_definition};
}

TEST(LayernormCpu, ForwardIsItsDefinition) {
    for_drawn(check_norm_forward, layernorm_kind());
}

TEST(LayernormCpu, BackwardIsTheDerivativeAndAdds) {
    for_drawn(check_norm_gradients, layernorm_kind());
}

TEST(LayernormCpu, FusedAdditionIsTheAdditionThenTheNorm) {
    for_drawn(check_norm_residual, layernorm_kind());
}

TEST(LayernormCpu, StatisticsGivenOrComputedAgainAreTheSame) {
    for_drawn(check_norm_statistics, layernorm_kind());
}

}  // namespace
}  // namespace orrery::cpu
