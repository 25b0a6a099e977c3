// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "engine/device_scalars.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/optimizer/optimizer.h"
#include "runtime/bound_op.h"
#include "runtime/operand_lists.h"

namespace orrery {
namespace {

// Elements of each operand, by access.
struct Sizes {
    std::vector<std::int64_t> reads;
    std::vector<std::int64_t> writes;
    std::vector<std::int64_t> accumulates;
    bool in_parts = false;  // an operand is a column part of its tensor
};

Sizes sizes_of(const Program& program, const Op& op) {
    Sizes sizes;
    add_operands(program, op, sizes, [&](const Operand& operand) {
        const Tensor& tensor = program.tensors[index(operand.tensor)];
        sizes.in_parts = sizes.in_parts || operand.part >= 0;
        return tensor.bytes.count() / size_bytes(tensor.dtype) / operand.pieces;
    });
    return sizes;
}

using Expected = std::vector<std::int64_t>;

// Of one access: as many as expected and of these sizes; what follows is optional.
std::string compare(std::string_view access,
                    const std::vector<std::int64_t>& actual,
                    const Expected& expected,
                    const Expected& optional = {}) {
    if (actual.size() < expected.size() || actual.size() > expected.size() + optional.size()) {
        return fmt::format("{} {} operands, not {}", access, actual.size(), expected.size());
    }
    Expected all = expected;
    all.insert(all.end(), optional.begin(), optional.end());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (actual[i] != all[i]) {
            return fmt::format(
                "{} operand {} has {} elements, not {}", access, i, actual[i], all[i]);
        }
    }
    return {};
}

struct ExpectedSizes {
    Expected reads;
    Expected writes;
    Expected accumulates;
    Expected optional_reads{};
    Expected optional_writes{};
};

std::string compare(const Sizes& sizes, const ExpectedSizes& expected) {
    std::string wrong = compare("reads", sizes.reads, expected.reads, expected.optional_reads);
    if (wrong.empty()) {
        wrong = compare("writes", sizes.writes, expected.writes, expected.optional_writes);
    }
    return wrong.empty() ? compare("accumulates", sizes.accumulates, expected.accumulates) : wrong;
}

ExpectedSizes gemm_sizes(const KernelCall& call, const Sizes& sizes) {
    const auto [m, n, k, batch] =
        std::array{call.dims[0], call.dims[1], call.dims[2], call.dims[3]};
    ExpectedSizes e{.reads = {m * k * batch, k * n * batch}, .writes = {}, .accumulates = {}};
    (sizes.writes.empty() ? e.accumulates : e.writes) = {m * n * batch};
    e.optional_reads = {n};
    return e;
}

ExpectedSizes attention_sizes(const KernelCall& call, const Sizes& sizes) {
    const AttentionShape s = attention_shape(call);
    const std::int64_t tokens = s.batch * s.seq_q;
    const std::int64_t context = tokens * s.heads * s.head_dim;
    const std::int64_t block = 2 * tokens * s.kv_heads * s.head_dim;
    const std::int64_t qkv = context + block;
    const std::int64_t statistics = tokens * s.heads;
    ExpectedSizes e{.reads = {qkv},
                    .writes = {context, statistics},
                    .accumulates = {},
                    .optional_reads = {kNumDeviceScalars}};
    if (call.kind == KernelKind::attention_forward) {
        if (sizes.writes.empty()) {  // of a ring
            e.reads.push_back(block);
            std::swap(e.writes, e.accumulates);
        }
        return e;
    }
    e.writes = {qkv};
    if (sizes.writes.size() + sizes.accumulates.size() > 1) {
        e.reads.push_back(block);
        e.writes = {block};
        (sizes.accumulates.empty() ? e.writes : e.accumulates).push_back(qkv);
    }
    e.reads.insert(e.reads.end(), {context, statistics, context});
    return e;
}

ExpectedSizes softmax_sizes(const KernelCall& call) {
    const std::int64_t scores = call.dims[0] * call.dims[1] * call.dims[2] * call.dims[3];
    const bool drops = (call.variant & 2) != 0;
    ExpectedSizes e{.reads = {scores}, .writes = {}, .accumulates = {}};
    if (call.kind == KernelKind::softmax_forward) {
        e.writes = drops ? Expected{scores, scores, scores} : Expected{scores};
    } else {
        e.accumulates = {scores};
        e.reads = drops ? Expected{scores, scores} : Expected{scores};
    }
    if (drops) {
        e.reads.push_back(kNumDeviceScalars);
    }
    return e;
}

// A product of all heads: what is not a column part of packed Q, K and V has the product's size.
std::string check_head_product(const Program& program, const Op& op) {
    const KernelCall& call = program.kernel(op);
    const auto [m, n, k, batch] =
        std::array{call.dims[0], call.dims[1], call.dims[2], call.dims[3]};
    const Expected expected{m * k * batch, k * n * batch, m * n * batch};
    if (op.num_operands != expected.size()) {
        return fmt::format("{} operands, not {}", op.num_operands, expected.size());
    }
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program.operands[op.first_operand + i];
        const Tensor& tensor = program.tensors[index(operand.tensor)];
        const std::int64_t elements = tensor.bytes.count() / size_bytes(tensor.dtype);
        const bool packed = operand.part >= 0 && tensor.column_parts.size() == 3;
        if (packed ? elements < expected[i] : elements != expected[i]) {
            return fmt::format("operand {} has {} elements, not {}", i, elements, expected[i]);
        }
    }
    return {};
}

ExpectedSizes norm_sizes(const KernelCall& call) {
    const bool layernorm =
        call.kind == KernelKind::layernorm_forward || call.kind == KernelKind::layernorm_backward;
    const bool forward =
        call.kind == KernelKind::layernorm_forward || call.kind == KernelKind::rmsnorm_forward;
    const std::int64_t hidden = call.dims[1];
    const std::int64_t x = call.dims[0] * hidden;
    const std::int64_t vectors = layernorm ? 2 : 1;  // weights a column, statistics a row
    const std::int64_t weight = vectors * hidden;
    const std::int64_t statistics = vectors * call.dims[0];
    const bool fused = call.variant == 1;
    if (forward && fused) {
        return {.reads = {x, x, weight},
                .writes = {x, statistics, x},
                .accumulates = {},
                .optional_reads = {hidden, hidden}};
    }
    if (forward) {
        return {.reads = {x, weight}, .writes = {x, statistics}, .accumulates = {}};
    }
    return {
        .reads = fused ? Expected{x, x, statistics, x, weight} : Expected{x, x, statistics, weight},
        .writes = {x},
        .accumulates = {weight}};
}

ExpectedSizes activation_sizes(const KernelCall& call) {
    const std::int64_t y = call.dims[0] * call.dims[1];
    switch (call.kind) {
        case KernelKind::gelu_forward:
            return {.reads = {y}, .writes = {y}, .accumulates = {}};
        case KernelKind::gelu_backward:
            return {.reads = {y, y}, .writes = {y}, .accumulates = {}};
        case KernelKind::swiglu_forward:
            return {.reads = {2 * y}, .writes = {y}, .accumulates = {}};
        default:
            return {.reads = {y, 2 * y}, .writes = {2 * y}, .accumulates = {}};
    }
}

// A table of rows of `width`: a bias (one row) or positions (as many as the sequence).
std::int64_t rows_of(const std::vector<std::int64_t>& sizes, std::int64_t width) {
    return sizes.empty() || sizes.front() % width != 0 ? width : sizes.front();
}

ExpectedSizes residual_sizes(const KernelCall& call, const Sizes& sizes) {
    const std::int64_t width = call.dims[1];
    const std::int64_t x = call.dims[0] * width;
    if (call.variant == 1) {
        ExpectedSizes e{.reads = {x, x}, .writes = {x, x}, .accumulates = {}};
        for (std::size_t biases = 3; biases < sizes.reads.size(); ++biases) {
            e.reads.push_back(width);
        }
        e.reads.push_back(kNumDeviceScalars);
        return e;
    }
    if (sizes.in_parts) {  // times up: of y, or of a gradient's gate
        const bool back = !sizes.accumulates.empty() && sizes.accumulates[0] > x;
        return {.reads = {2 * x}, .writes = {}, .accumulates = {back ? 2 * x : x}};
    }
    if (sizes.writes.empty() && !sizes.accumulates.empty() && sizes.accumulates[0] > x) {
        return {.reads = {x, x}, .writes = {}, .accumulates = {sizes.accumulates[0]}};
    }
    if (sizes.writes.empty()) {
        return {.reads = {rows_of(sizes.reads, width)}, .writes = {}, .accumulates = {x}};
    }
    return {.reads = {x, x}, .writes = {x}, .accumulates = {}, .optional_reads = {width, width}};
}

ExpectedSizes dropout_sizes(const KernelCall& call, const Sizes& sizes) {
    const std::int64_t x = call.dims[0] * call.dims[1];
    if (sizes.accumulates.empty()) {
        return {.reads = {x, x, kNumDeviceScalars}, .writes = {x}, .accumulates = {}};
    }
    return {.reads = {kNumDeviceScalars}, .writes = {x}, .accumulates = {x}};
}

ExpectedSizes embedding_sizes(const KernelCall& call) {
    const std::int64_t tokens = call.dims[0];
    const std::int64_t rows = tokens * call.dims[1];
    const std::int64_t table = call.dims[2] * call.dims[1];
    if (call.kind == KernelKind::embedding_forward) {
        return {.reads = {tokens, table}, .writes = {rows}, .accumulates = {}};
    }
    return {.reads = {tokens, rows}, .writes = {}, .accumulates = {table}};
}

ExpectedSizes loss_sizes(const KernelCall& call, const Sizes& sizes) {
    const std::int64_t tokens = call.dims[0];
    const std::int64_t logits = tokens * call.dims[1];
    const std::int64_t scalars = sizes.reads.empty() ? 0 : sizes.reads.back();
    if (call.kind == KernelKind::cross_entropy_backward) {
        Expected reads{tokens, tokens, tokens, tokens};
        if (call.variant == 0) {
            reads.push_back(logits);
        }
        reads.push_back(scalars);
        return {.reads = reads, .writes = {}, .accumulates = {logits}};
    }
    if (sizes.writes.empty() && sizes.reads.size() == 2) {
        return {.reads = {tokens, tokens}, .writes = {}, .accumulates = {tokens}};
    }
    if (sizes.writes.empty()) {
        return {
            .reads = {tokens, tokens, tokens, tokens, scalars}, .writes = {}, .accumulates = {1}};
    }
    return {.reads = {logits, tokens},
            .writes = {tokens, tokens, tokens},
            .accumulates = {},
            .optional_reads = {},
            .optional_writes = {logits}};
}

// Of all but the last `without`.
std::int64_t sum(const std::vector<std::int64_t>& sizes, std::size_t without = 0) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i + without < sizes.size(); ++i) {
        total += sizes[i];
    }
    return total;
}

// Multi-tensor kernels: `n` elements in all (of shards, if the optimizer is sharded).
std::string check_step_end(const KernelCall& call, const Sizes& sizes) {
    const std::int64_t n = call.dims[0];
    const auto less = [&](std::string_view what, std::int64_t elements) {
        return elements >= n ? std::string{}
                             : fmt::format("{} have {} elements, less than {}", what, elements, n);
    };
    switch (call.kind) {
        case KernelKind::gradient_norm:
            return sizes.writes != Expected{1} ? "writes no norm"
                                               : less("gradients", sum(sizes.reads));
        case KernelKind::gradient_scale:
            return sizes.reads.size() != 2 || sizes.reads[0] != 1
                       ? "does not read norm and scalars"
                       : less("gradients", sum(sizes.accumulates));
        default:
            break;
    }
    if (call.kind == KernelKind::lamb_update) {
        const bool fits =
            sizes.reads.size() == sizes.accumulates.size() &&
            sizes.writes == Expected{2 * static_cast<std::int64_t>(sizes.reads.size() - 1)};
        return fits ? "" : "two norms for each weight and its gradient are due";
    }
    const std::size_t others = call.kind == KernelKind::lamb ? 2 : 1;  // scalars, norms
    if (sizes.reads.size() != sizes.writes.size() + others) {
        return "as many gradients as weights and the scalars are due";
    }
    if (sizes.accumulates != Expected{optimizer_states(call) * n}) {
        return "the optimizer's state has another size";
    }
    const std::string gradients = less("gradients", sum(sizes.reads, others));
    return gradients.empty() ? less("weights", sum(sizes.writes)) : gradients;
}

// Products take rows in pieces, those of the other operand that has rows alike.
std::string check_pieces(const Program& program, RankId rank, const Op& op) {
    for (std::uint32_t i = 0; i < op.num_operands; ++i) {
        const Operand& operand = program.operands[op.first_operand + i];
        if (operand.pieces == 1) {
            continue;
        }
        if (program.kernel(op).kind != KernelKind::gemm) {
            return "takes whole tensors only";
        }
        const Operand& rows = program.operands[op.first_operand];
        const auto blocks_of = [&](const Operand& o) {
            return program.tensors[index(o.tensor)].sequence_blocks;
        };
        if (operand.piece != rows.piece || operand.pieces != rows.pieces ||
            blocks_of(operand) != blocks_of(rows)) {
            return "takes different pieces of what it reads and writes";
        }
        if (std::string why = why_not_in_pieces(program, rank, operand); !why.empty()) {
            return why;
        }
    }
    return {};
}

// A packed tensor has more than the columns that are copied of it.
ExpectedSizes key_value_sizes(std::int64_t written, const Sizes& sizes) {
    ExpectedSizes expected{.reads = {}, .writes = {written}, .accumulates = {}};
    const bool joins = sizes.reads.size() == 2;
    const std::int64_t block = joins ? std::min(sizes.reads[1], written) : 0;
    expected.reads = {sizes.reads.empty() ? 0 : std::max(sizes.reads[0], written - block)};
    if (joins) {
        expected.reads.push_back(block);
    }
    return expected;
}

std::optional<ExpectedSizes> expected_sizes(const KernelCall& call, const Sizes& sizes) {
    const std::int64_t x = call.dims[0] * call.dims[1];
    switch (call.kind) {
        case KernelKind::gemm:
            return gemm_sizes(call, sizes);
        case KernelKind::attention_forward:
        case KernelKind::attention_backward:
            return attention_sizes(call, sizes);
        case KernelKind::softmax_forward:
        case KernelKind::softmax_backward:
            return softmax_sizes(call);
        case KernelKind::dropout:
            return dropout_sizes(call, sizes);
        case KernelKind::transpose:
            return key_value_sizes(x, sizes);
        case KernelKind::layernorm_forward:
        case KernelKind::layernorm_backward:
        case KernelKind::rmsnorm_forward:
        case KernelKind::rmsnorm_backward:
            return norm_sizes(call);
        case KernelKind::gelu_forward:
        case KernelKind::gelu_backward:
        case KernelKind::swiglu_forward:
        case KernelKind::swiglu_backward:
            return activation_sizes(call);
        case KernelKind::residual_add:
            return residual_sizes(call, sizes);
        case KernelKind::bias_gradient:
            return ExpectedSizes{.reads = {x},
                                 .writes = {},
                                 .accumulates = {rows_of(sizes.accumulates, call.dims[1])}};
        case KernelKind::embedding_forward:
        case KernelKind::embedding_backward:
            return embedding_sizes(call);
        case KernelKind::cross_entropy_forward:
        case KernelKind::cross_entropy_backward:
            return loss_sizes(call, sizes);
        case KernelKind::gradient_accumulate:
            return ExpectedSizes{
                .reads = {call.dims[0]}, .writes = {}, .accumulates = {call.dims[0]}};
        default:
            return std::nullopt;
    }
}

}  // namespace

std::string check_kernel_operands(const Program& program, RankId rank, const Op& op) {
    const KernelCall& call = program.kernel(op);
    if (std::string wrong = check_pieces(program, rank, op); !wrong.empty()) {
        return wrong;
    }
    const Sizes sizes = sizes_of(program, op);
    switch (call.kind) {
        case KernelKind::gradient_norm:
        case KernelKind::gradient_scale:
        case KernelKind::adamw:
        case KernelKind::lamb_update:
        case KernelKind::lamb:
            return check_step_end(call, sizes);
        case KernelKind::cast:
            return sizes.reads.size() == sizes.writes.size() && sizes.accumulates.empty()
                       ? ""
                       : "does not read one tensor for each that it writes";
        case KernelKind::rope: {
            const std::int64_t heads = call.dims[0] * call.dims[1] * call.dims[2];
            const bool fits = sizes.accumulates.size() == 1 && sizes.accumulates[0] > heads;
            return fits ? "" : "does not turn one tensor of query, key and value heads";
        }
        default:
            break;
    }
    if (sizes.in_parts && call.kind == KernelKind::gemm) {
        return check_head_product(program, op);
    }
    if (call.kind == KernelKind::gemm && call.dims[3] != 1) {
        return "products in batches are those of attention's heads";
    }
    const std::optional<ExpectedSizes> expected = expected_sizes(call, sizes);
    return expected ? compare(sizes, *expected) : std::string{};
}

}  // namespace orrery
