// SPDX-License-Identifier: Apache-2.0
// Where a matrix descriptor says that an element of a bf16 matrix lies, as the hardware reads it:
// written from the PTX manual, without the kernels' own index arithmetic
// (kernels/cuda/warpgroup.h).
#pragma once

#include <cstdint>

namespace orrery::emulation {

enum class Major : std::uint8_t { k, mn };  // the dimension whose elements are neighbours

// Bytes from the begin of shared memory. `mn`: row of an A, column of a B.
std::int64_t element_address(std::uint64_t descriptor, Major major, int mn, int k);

}  // namespace orrery::emulation
