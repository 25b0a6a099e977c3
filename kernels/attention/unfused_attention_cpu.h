// SPDX-License-Identifier: Apache-2.0
// The batched products of unfused attention on the CPU (kernels/attention/head_products.h).
#pragma once

#include "kernels/attention/head_products.h"

namespace orrery::cpu {

void multiply_heads(const HeadProduct& product);

}  // namespace orrery::cpu
