// SPDX-License-Identifier: Apache-2.0
#include "runtime/fused_products.h"

#include <algorithm>
#include <optional>
#include <span>

#include "kernels/catalogue.h"
#include "runtime/kernel_shapes.h"

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
                if (const auto fused = with_partner(i)) {
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
    const KernelDescriptor* kernel(std::uint32_t launch) const {
        return op(launch).kind() == OpKind::kernel
                   ? &descriptor_of(program_.kernel(op(launch)).kind)
                   : nullptr;
    }
    bool becomes(std::uint32_t launch, ProductEpilogue epilogue) const {
        return kernel(launch) != nullptr && kernel(launch)->epilogue == epilogue;
    }
    // Whether the launch is a product of whole tensors.
    bool is_plain_product(std::uint32_t launch) const {
        return kernel(launch) != nullptr &&
               kernel(launch)->efficiency == EfficiencyClass::product &&
               plan_.launches[launch].begin_at_zero.empty() &&
               std::ranges::all_of(operands(launch),
                                   [](const Operand& o) { return o.part < 0 && o.pieces == 1; });
    }

    std::optional<FusedProduct> with_partner(std::uint32_t product) const {
        const Launch& first = plan_.launches[product];
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
            if (const auto epilogue = epilogue_of(product, i)) {
                const bool free = launch.begin_at_zero.empty() && can_move(product, i);
                return free ? std::optional{FusedProduct{product, i, *epilogue}} : std::nullopt;
            }
        }
        return std::nullopt;
    }

    std::optional<GemmEpilogue> epilogue_of(std::uint32_t product, std::uint32_t partner) const {
        if (is_bias_gradient_of(product, partner)) {
            return GemmEpilogue::bias_gradient;
        }
        const Operand& result = operands(product).back();
        const bool reads_it = operands(partner).front().tensor == result.tensor;
        const bool as_it_lies = result.access == Access::write && !result.transposed;
        const bool gelu =
            op(partner).kind() == OpKind::kernel && program_.kernel(op(partner)).variant == 0;
        if (!reads_it || !as_it_lies || !gelu) {
            return std::nullopt;
        }
        const bool biased = operands(product).size() == 4;  // A B bias C
        if (becomes(partner, ProductEpilogue::gelu) && biased) {
            return GemmEpilogue::gelu;
        }
        // The gradient of the GELU's result is used only by the GELU's backward pass, so that it
        // need not be stored.
        const bool alone = uses_in_slot(product, result.tensor) == 2;
        return becomes(partner, ProductEpilogue::gelu_gradient) && !biased && alone
                   ? std::optional{GemmEpilogue::dgelu}
                   : std::nullopt;
    }

    // The partner sums the columns of the product's B, whose rows are its inner dimension, in the
    // dtype of C.
    bool is_bias_gradient_of(std::uint32_t product, std::uint32_t partner) const {
        if (!becomes(partner, ProductEpilogue::column_sums)) {
            return false;
        }
        const Operand& b = operands(product)[1];
        const Operand& dy = operands(partner).front();
        const Tensor& gradient = program_.tensors[index(operands(partner).back().tensor)];
        const Tensor& c = program_.tensors[index(operands(product).back().tensor)];
        const KernelCall& call = program_.kernel(op(product));
        const KernelCall& sums = program_.kernel(op(partner));
        return b.tensor == dy.tensor && !b.transposed && dy.pieces == 1 && is_vector(gradient) &&
               gradient.dtype == c.dtype && call.dims[2] == sums.dims[0] &&
               call.dims[1] == sums.dims[1];
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

    bool can_move(std::uint32_t product, std::uint32_t partner) const {
        const auto uses = [&](std::uint32_t launch) {
            return arena_uses(rank_, plan_.launches[launch].slot, op(launch));
        };
        const std::vector<ArenaUse> own = uses(partner);
        // The product still reads its operands while the partner's result is written.
        for (const ArenaUse& read : uses(product)) {
            for (const ArenaUse& use : own) {
                if (!read.writes && use.writes && use.begin < read.end && read.begin < use.end) {
                    return false;
                }
            }
        }
        for (std::uint32_t i = product + 1; i < partner; ++i) {
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
