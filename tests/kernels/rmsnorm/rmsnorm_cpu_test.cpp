// SPDX-License-Identifier: Apache-2.0
#include "kernels/rmsnorm/rmsnorm_cpu.h"

#include "tests/kernels/norm_cases.h"

namespace orrery::cpu {
namespace {

NormKind rmsnorm_kind() {
    return {rmsnorm_forward, rmsnorm_backward, 1, 1, rmsnorm_definition};
}

TEST(RmsnormCpu, ForwardIsItsDefinition) {
    for_drawn(check_norm_forward, rmsnorm_kind());
}

TEST(RmsnormCpu, BackwardIsTheDerivativeAndAdds) {
    for_drawn(check_norm_gradients, rmsnorm_kind());
}

TEST(RmsnormCpu, FusedAdditionIsTheAdditionThenTheNorm) {
    for_drawn(check_norm_residual, rmsnorm_kind());
}

TEST(RmsnormCpu, StatisticsGivenOrComputedAgainAreTheSame) {
    for_drawn(check_norm_statistics, rmsnorm_kind());
}

}  // namespace
}  // namespace orrery::cpu
