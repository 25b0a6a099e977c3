// SPDX-License-Identifier: Apache-2.0
// The parameters of a rank and their optimizer state, found from the Program's optimizer ops.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/tensor_view.h"
#include "runtime/executor.h"
#include "runtime/state/parameter_block.h"

namespace orrery {

struct HeldParameter {
    std::string name;
    ParameterBlock block;  // this rank's block of the whole parameter
    ElementRange held;     // elements of the block in `weight`: not all under ZeRO 3
    TensorView weight;
    ElementRange own;  // elements of the block that this rank updates
    // State of the elements in `own`.
    TensorView first_moment;
    TensorView second_moment;
    TensorView master;  // fp32 weights; empty if `weight` is its own master
};

// In the order of the optimizer's operands. The views are valid as long as the executor.
std::vector<HeldParameter> held_parameters(Executor& executor);

// Sets the weights and their fp32 master from the whole parameter.
void set_weights(const HeldParameter& parameter, std::span<const float> whole);

}  // namespace orrery
