// SPDX-License-Identifier: Apache-2.0
// The matrix product in the list of kernels (kernels/kernel_list.h).
//   gemm   reads A B [bias], writes C; or accumulates C (+= A B)
//     of experts  reads A B counts (kernels/gemm/grouped_gemm_cpu.h), else the same
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/grouped_gemm.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

struct Gemm {
    static bool takes(const KernelCall& key) {
        return gemm_epilogue(key) <= GemmEpilogue::accumulate && key.variant / 8 < kNumDtypes;
    }
    // A product that accumulates has A transposed, as in gradients of weights; others do not.
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const auto [m, n, k, batch] =
            std::array{call.dims[0], call.dims[1], call.dims[2], call.dims[3]};
        const GemmEpilogue epilogue = gemm_epilogue(call);
        const bool adds = epilogue == GemmEpilogue::accumulate;
        forms.add({.dtype = call.dtype, .shape = {batch, m, k}, .transposed = adds});
        forms.read({batch, k, n});
        if (epilogue == GemmEpilogue::bias) {
            forms.add(Access::read, gemm_output(call), {n});
        }
        if (is_grouped(call)) {
            forms.add({.dtype = Dtype::int32,
                       .shape = {batch},
                       .values = OperandValues::equal,
                       .ids = adds ? k : m});
        }
        forms.add(adds ? Access::accumulate : Access::write, gemm_output(call), {batch, m, n});
        return true;
    }
    // For experts, tensors may have more rows than the call; the rows are counted at run time.
    // Sizes distinguish a gradient of weights, both of whose operands have rows, from another
    // product.
    static std::string why_not_grouped(const KernelCall& call, const OperandSizes& sizes) {
        const auto [m, n, k] = std::array{call.dims[0], call.dims[1], call.dims[2]};
        const std::vector<std::int64_t>& out =
            sizes.writes.empty() ? sizes.accumulates : sizes.writes;
        if (sizes.reads.size() != 3 || out.size() != 1) {
            return "products of experts are executed with the rows of each";
        }
        const bool product = sizes.reads[1] % (n * k) == 0 && sizes.reads[0] * n == out[0] * k;
        const bool gradient = out[0] % (m * n) == 0 && sizes.reads[0] * n == sizes.reads[1] * m;
        return product || gradient ? "" : "the operands are of no product of experts";
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const auto [m, n, k, batch] =
            std::array{call.dims[0], call.dims[1], call.dims[2], call.dims[3]};
        if (is_grouped(call)) {
            return why_not_grouped(call, sizes);
        }
        if (batch != 1) {
            return "products in batches are those of attention's heads";
        }
        ExpectedSizes e{.reads = {m * k, k * n}, .writes = {}, .accumulates = {}};
        (sizes.writes.empty() ? e.accumulates : e.writes) = {m * n};
        e.optional_reads = {n};
        return compare(sizes, e);
    }
    static constexpr KernelDescriptor kDescriptor{.kind = KernelKind::gemm,
                                                  .efficiency = EfficiencyClass::product,
                                                  .num_dims = 4,
                                                  .num_optional_dims = 2,
                                                  .takes = takes,
                                                  .call =
                                                      [](const KernelCall& key) {
                                                          return is_grouped(key)
                                                                     ? grouped_gemm_of_key(key)
                                                                     : gemm(key.dims[0],
                                                                            key.dims[1],
                                                                            key.dims[2],
                                                                            key.dims[3],
                                                                            key.dtype,
                                                                            gemm_epilogue(key),
                                                                            gemm_output(key));
                                                      },
                                                  .operands = operands,
                                                  .why_not = why_not};
};

}  // namespace orrery::kernel
