// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapters/adapters_cuda.h"

#include "kernels/adapters/adapters_device.h"
#include "tests/kernels/adapters/adapter_cases.h"
#include "tests/kernels/emulation/emulated_block.h"

namespace orrery::device {
namespace {

TEST(AdaptersCuda, EachRowGetsItsOwnAdapterOrNone) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            const numeric::AdapterCase c{seed, dtype};
            numeric::Tensor y = c.y;
            numeric::Tensor backwards = c.y;
            emulation::EmulatedQueue queue;
            add_adapters(queue, c.shape, c.operands(y));
            emulation::EmulatedQueue other{emulation::ThreadOrder::descending};
            add_adapters(other, c.shape, c.operands(backwards));
            EXPECT_LT(numeric::relative_error(y, c.expected()), numeric::tolerance(dtype));
            EXPECT_EQ(backwards, y);
        }
    }
}

}  // namespace
}  // namespace orrery::device
