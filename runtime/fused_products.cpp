// SPDX-License-Identifier: Apache-2.0
#include "runtime/fused_products.h"

#include <algorithm>
#include <optional>
#include <span>

namespace orrery {
namespace {

class Finder {
public:
    Finder(const RankProgram& rank, const LaunchPlan& plan)
        : rank_(rank), program_(rank.program()), plan_(plan) {}

    std::vector<FusedProduct> run() const {
        std::vector<FusedProduct> found;
        for (std::uint32_t i = 0; i < plan_.launches.size(); ++i) {
            if (is_plain_product(i)) {
                if (const auto fused = with_activation(i)) {
                    found.push_back(*fused);
                }
            }
        }
        return found;
    }

private:
    const Op& op(std::uint32_t launch) const {
        return rank_.op(plan_.launches[launch].slot, plan_.launches[launch].op);
    }
    std::span<const Operand> operands(std::uint32_t launch) const {
        const Op& own = op(launch);
        return std::span{program_.operands}.subspan(own.first_operand, own.num_operands);
    }
    bool is_kernel(std::uint32_t launch, KernelKind kind) const {
        return op(launch).kind == OpKind::kernel &&
               program_.kernels[op(launch).payload].kind == kind;
    }
    // Of whole tensors, into one that is written as it lies.
    bool is_plain_product(std::uint32_t launch) const {
        const auto own = operands(launch);
        return is_kernel(launch, KernelKind::gemm) &&
               plan_.launches[launch].begin_at_zero.empty() && own.back().access == Access::write &&
               !own.back().transposed && std::ranges::all_of(own, [](const Operand& o) {
                   return o.part < 0 && o.pieces == 1;
               });
    }

    std::optional<FusedProduct> with_activation(std::uint32_t product) const {
        const Launch& first = plan_.launches[product];
        const TensorId result = operands(product).back().tensor;
        for (std::uint32_t i = product + 1; i < plan_.launches.size(); ++i) {
            const Launch& launch = plan_.launches[i];
            if (launch.slot != first.slot) {
                return std::nullopt;
            }
            if (launch.stream != first.stream) {
                continue;
            }
            if (!launch.waits.empty()) {
                return std::nullopt;
            }
            if (const auto epilogue = epilogue_of(product, i, result)) {
                const bool free = launch.begin_at_zero.empty() && can_move(product, i);
                return free ? std::optional{FusedProduct{product, i, *epilogue}} : std::nullopt;
            }
        }
        return std::nullopt;
    }

    std::optional<GemmEpilogue> epilogue_of(std::uint32_t product,
                                            std::uint32_t activation,
                                            TensorId result) const {
        const bool reads_it = operands(activation).front().tensor == result;
        const bool gelu = op(activation).kind == OpKind::kernel &&
                          program_.kernels[op(activation).payload].variant == 0;
        if (!reads_it || !gelu) {
            return std::nullopt;
        }
        const bool biased = operands(product).size() == 4;  // A B bias C
        if (is_kernel(activation, KernelKind::gelu_forward) && biased) {
            return GemmEpilogue::gelu;
        }
        // The gradient of the GELU's result is made for its backward pass alone, and then not at
        // all.
        const bool alone = uses_in_slot(product, result) == 2;
        return is_kernel(activation, KernelKind::gelu_backward) && !biased && alone
                   ? std::optional{GemmEpilogue::dgelu}
                   : std::nullopt;
    }

    std::int64_t uses_in_slot(std::uint32_t product, TensorId tensor) const {
        const bool own = program_.tensors[index(tensor)].lifetime == Lifetime::slot;
        const Segment& segment =
            program_.segment_of(rank_.role().slots[plan_.launches[product].slot]);
        std::int64_t uses = own ? 0 : 3;
        for (const Op& other : segment.ops) {
            const auto all =
                std::span{program_.operands}.subspan(other.first_operand, other.num_operands);
            uses += std::ranges::count(all, tensor, &Operand::tensor);
        }
        return uses;
    }

    bool can_move(std::uint32_t product, std::uint32_t activation) const {
        const auto uses = [&](std::uint32_t launch) {
            return arena_uses(rank_, plan_.launches[launch].slot, op(launch));
        };
        const std::vector<ArenaUse> own = uses(activation);
        // The product still reads its operands while the activation's result is written.
        for (const ArenaUse& read : uses(product)) {
            for (const ArenaUse& use : own) {
                if (!read.writes && use.writes && use.begin < read.end && read.begin < use.end) {
                    return false;
                }
            }
        }
        for (std::uint32_t i = product + 1; i < activation; ++i) {
            for (const ArenaUse& other : uses(i)) {
                for (const ArenaUse& use : own) {
                    const bool meet = use.begin < other.end && other.begin < use.end;
                    if (meet && (use.writes || other.writes)) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    const RankProgram& rank_;
    const Program& program_;
    const LaunchPlan& plan_;
};

}  // namespace

std::vector<FusedProduct> fused_products(const RankProgram& rank, const LaunchPlan& plan) {
    return Finder{rank, plan}.run();
}

}  // namespace orrery
