// SPDX-License-Identifier: Apache-2.0
// The parameters of a rank with what the optimizer keeps of them, found from the Program's
// optimizer ops.
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
    ParameterBlock block;  // of the whole parameter that this rank has
    ElementRange held;     // elements of the block that `weight` has: under ZeRO 3 not all
    TensorView weight;
    ElementRange own;  // elements of the block that this rank updates
    // Of those.
    TensorView first_moment;
    TensorView second_moment;
    TensorView master;  // fp32 weights; empty where `weight` is its own
};

// In the order in which the optimizer lists them. Views are valid as long as the executor is.
std::vector<HeldParameter> held_parameters(Executor& executor);

// Sets the weights, and their fp32 master, to their part of the whole parameter.
void set_weights(const HeldParameter& parameter, std::span<const float> whole);

}  // namespace orrery
