// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters of many requests on a GPU: the function of kernels/adapters/adapters_cpu.h. x,
// y, a and b have one type, fp32 or bf16; the numbers are read on the device, so that a captured
// step serves other adapters when it is replayed. The product with A stays in fp32.
#pragma once

#include "kernels/adapters/adapters_cpu.h"

namespace orrery::device {

// Scratch memory that add_adapters() asks its queue for.
constexpr std::int64_t adapter_scratch_bytes(const cpu::AdapterShape& shape) {
    return shape.rows * shape.rank * 4;
}

template <class Queue>
void add_adapters(Queue& queue,
                  const cpu::AdapterShape& shape,
                  const cpu::AdapterOperands& operands);

}  // namespace orrery::device
