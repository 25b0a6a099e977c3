// SPDX-License-Identifier: Apache-2.0
// Runs the kernel ops of a Program, all but matrix products, by the device code of the CUDA kernels
// under emulation, attention on both kinds of tensor cores. Each op is also run by the CPU kernels
// on the same operands, and compared.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "runtime/cpu/cpu_kernels.h"
#include "runtime/cuda/kernel_definitions.h"
#include "runtime/cuda/kernel_launches.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery {

using numeric::Doubles;

inline std::vector<BoundOperand> results_of(const BoundOp& op) {
    std::vector<BoundOperand> all = op.writes;
    all.insert(all.end(), op.accumulates.begin(), op.accumulates.end());
    return all;
}

// The bytes and the values of what an op writes or adds to.
struct Results {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<Doubles> values;

    explicit Results(const BoundOp& op) {
        for (const BoundOperand& operand : results_of(op)) {
            const TensorView& view = operand.view;
            bytes.emplace_back(view.data, view.data + view.size * size_bytes(view.dtype));
            values.emplace_back();
            for (std::int64_t i = 0; i < view.size; ++i) {
                values.back().push_back(static_cast<double>(load(view, i)));
            }
        }
    }
    void restore(const BoundOp& op) const {
        const auto operands = results_of(op);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            std::copy(bytes[i].begin(), bytes[i].end(), operands[i].view.data);
        }
    }
};

class ComparedDevice {
public:
    explicit ComparedDevice(Dtype precision) : precision_(precision) {}

    void operator()(const BoundOp& op) {
        if (op.call.kind == KernelKind::gemm) {
            run_on_cpu(op);
            return;
        }
        ++ops[op.call.kind];
        const Results before{op};
        run_on_cpu(op);
        const Results expected{op};
        const bool attention = (op.call.kind == KernelKind::attention_forward ||
                                op.call.kind == KernelKind::attention_backward) &&
                               device::has_tensor_core_attention(op.call);
        std::int64_t scratch_bytes = 0;
        for (const auto cores : {device::TensorCores::warpgroups, device::TensorCores::warps}) {
            if (!attention && cores == device::TensorCores::warpgroups) {
                continue;
            }
            before.restore(op);
            emulation::EmulatedQueue queue{emulation::ThreadOrder::descending, cores};
            launch_kernel(queue, op);
            expect_alike(op, Results{op}, expected);
            scratch_bytes = queue.scratch_bytes();
        }
        device::RecordingQueue record;
        launch_kernel(record, op);
        EXPECT_EQ(record.scratch_bytes(), scratch_bytes) << name(op.call.kind);
    }

    std::map<KernelKind, int> ops;

private:
    void expect_alike(const BoundOp& op, const Results& actual, const Results& expected) const {
        for (std::size_t i = 0; i < expected.values.size(); ++i) {
            const double size =
                std::sqrt(numeric::inner_product(expected.values[i], expected.values[i]));
            Doubles difference = actual.values[i];
            for (std::size_t j = 0; j < difference.size(); ++j) {
                difference[j] -= expected.values[i][j];
            }
            const double allowed = precision_ == Dtype::bf16 ? 1e-2 : 1e-5;
            EXPECT_LE(std::sqrt(numeric::inner_product(difference, difference)),
                      allowed * size + 1e-9)
                << name(op.call.kind) << " result " << i;
        }
    }

    Dtype precision_;
};

}  // namespace orrery
