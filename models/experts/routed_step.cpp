// SPDX-License-Identifier: Apache-2.0
#include "models/experts/routed_step.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "engine/base/check.h"
#include "kernels/gemm/grouped_gemm.h"
#include "models/experts/expert_counts.h"
#include "models/plan/stage_parties.h"

namespace orrery {
namespace {

constexpr int kLevelBits = 9;

std::int64_t rounded_rows(std::int64_t rows) {
    const int extra =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))) - kLevelBits;
    if (extra <= 0) {
        return rows;
    }
    const std::int64_t unit = std::int64_t{1} << extra;
    return (rows + unit / 2) / unit * unit;
}

// Distinct amounts of work: the rows of a rank's experts.
class Levels {
public:
    std::uint32_t of(std::span<const double> rows) {
        std::int64_t sum = 0;
        std::int64_t tiles = 0;
        std::int64_t used = 0;
        for (const double of_expert : rows) {
            const auto count = static_cast<std::int64_t>(of_expert);
            sum += count;
            tiles += (count + kGroupTileRows - 1) / kGroupTileRows;
            used += count > 0 ? 1 : 0;
        }
        const std::int64_t rounded = rounded_rows(sum);
        const auto [found, added] =
            known_.try_emplace({rounded, tiles, used}, static_cast<std::uint32_t>(experts_.size()));
        if (added) {
            std::vector<std::int64_t> experts;
            for (const double of_expert : rows) {
                experts.push_back(static_cast<std::int64_t>(of_expert));
            }
            std::int64_t& most = *std::ranges::max_element(experts);
            most = std::max<std::int64_t>(0, most + rounded - sum);
            experts_.push_back(std::move(experts));
            rows_.push_back(rounded);
        }
        return found->second;
    }
    const std::vector<std::vector<std::int64_t>>& experts() const { return experts_; }
    const std::vector<std::int64_t>& rows() const { return rows_; }

private:
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::uint32_t> known_;
    std::vector<std::vector<std::int64_t>> experts_;  // by level: rows of each expert
    std::vector<std::int64_t> rows_;
};

// A kernel call without the number of its rows.
struct Column {
    KernelCall call;
    Cause cause{};
    bool grouped = false;
    bool weights = false;    // a grouped product that computes the gradient of weights
    std::int64_t rows = 1;   // the router's rows in `call`
    std::int64_t fixed = 0;  // bytes that do not depend on the rows
    int row_dim = -1;        // the call's extent that is proportional to the rows

    // Equal for kernels that take equal time for equal rows.
    std::vector<std::int64_t> key() const {
        std::vector<std::int64_t> key{static_cast<std::int64_t>(call.kind),
                                      static_cast<std::int64_t>(call.dtype),
                                      call.variant,
                                      static_cast<std::int64_t>(call.tier),
                                      static_cast<std::int64_t>(cause),
                                      grouped,
                                      weights,
                                      fixed,
                                      row_dim};
        const auto of_row = [&](double all) {
            return std::llround(1024 * all / static_cast<double>(rows));
        };
        if (grouped) {
            key.insert(key.end(), {call.dims[1], weights ? call.dims[0] : call.dims[2]});
            key.push_back(call.dims[5]);
            return key;
        }
        key.push_back(of_row(static_cast<double>(call.bytes - fixed)));
        key.push_back(of_row(call.flop));
        for (int d = 0; d < static_cast<int>(call.dims.size()); ++d) {
            const std::int64_t extent = call.dims[static_cast<std::size_t>(d)];
            key.push_back(d == row_dim ? of_row(static_cast<double>(extent)) : extent);
        }
        return key;
    }

    KernelCall of(const std::vector<std::int64_t>& experts,
                  std::int64_t level_rows,
                  std::int64_t row_multiple) const {
        if (grouped) {
            const GroupedGemm product{.rows = experts,
                                      .n = call.dims[1],
                                      .k = weights ? call.dims[0] : call.dims[2],
                                      .in = call.dtype,
                                      .out = gemm_output(call),
                                      .epilogue = gemm_epilogue(call),
                                      .block_scaled = is_block_scaled(call),
                                      .row_multiple = row_multiple};
            KernelCall own = weights ? grouped_gemm_weights(product) : grouped_gemm(product);
            own.dims[5] = call.dims[5];
            return own;
        }
        const double part =
            static_cast<double>(std::max<std::int64_t>(level_rows, 1)) / static_cast<double>(rows);
        KernelCall own = call;
        own.bytes = fixed + std::llround(static_cast<double>(call.bytes - fixed) * part);
        own.flop = call.flop * part;
        if (row_dim >= 0) {
            std::int64_t& extent = own.dims[static_cast<std::size_t>(row_dim)];
            extent = std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * part));
        }
        return own;
    }
};

class StepRouter {
public:
    StepRouter(const Transformer& model,
               const ParallelPlan& plan,
               const Program& program,
               std::span<const RoutedTensor> routed)
        : model_(model),
          plan_(plan),
          program_(program),
          of_tensor_(program.tensors.size(), nullptr),
          draw_(router_draw(model, plan)) {
        load_.micro_batches = static_cast<std::uint32_t>(plan.num_micro_batches());
        load_.rows_of_router.assign(static_cast<std::size_t>(model.num_layers) + 1, 1);
        for (const RoutedTensor& tensor : routed) {
            of_tensor_[index(tensor.tensor)] = &tensor;
            if (static_cast<std::size_t>(tensor.layer) >= load_.rows_of_router.size()) {
                load_.rows_of_router.resize(static_cast<std::size_t>(tensor.layer) + 1, 1);
            }
            if (tensor.with_experts) {
                std::int64_t& rows = load_.rows_of_router[static_cast<std::size_t>(tensor.layer)];
                rows = std::max(rows, tensor.rows);
            }
        }
    }

    RoutedStep route() {
        find_routers();
        find_columns();
        draw_all();
        add_kernels();
        out_.load = std::move(load_);
        return std::move(out_);
    }

private:
    std::span<const Operand> operands_of(const Op& op) const {
        return {program_.operands.data() + op.first_operand, op.num_operands};
    }
    const RoutedTensor* routed(const Operand& operand) const {
        return of_tensor_[index(operand.tensor)];
    }

    // The layer whose router determines the work of an op; -1: no router does.
    std::int64_t layer_of(const Op& op, std::uint32_t etp_digits) const {
        const bool collective = op.kind() == OpKind::collective;
        if (op.kind() != OpKind::kernel && !collective) {
            return -1;
        }
        bool any = false;
        if (collective) {
            const CollectiveCall& call = program_.collective(op);
            const std::uint32_t digits = program_.groups[index(call.group)].digits;
            const bool splits_experts = digits != 0 && (digits & ~etp_digits) == 0;
            any = call.kind == CollectiveKind::all_to_all && call.rows.dispatcher > 0;
            if (!any && !splits_experts) {
                return -1;
            }
        }
        for (const Operand& operand : operands_of(op)) {
            const RoutedTensor* const tensor = routed(operand);
            if (tensor != nullptr && (any || tensor->with_experts)) {
                return tensor->layer;
            }
        }
        return -1;
    }

    void find_routers() {
        parties_ = stage_parties(model_, plan_);
        const auto routers = load_.rows_of_router.size();
        load_.first_draw.assign(program_.roles.size(),
                                std::vector<std::uint32_t>(routers, StepLoad::kNone));
        for (const Segment& segment : program_.segments) {
            load_.routers.emplace_back(segment.ops.size(), std::uint16_t{0});
        }
        draws_of_role_.assign(program_.roles.size(), 0);
        for (std::size_t role = 0; role < program_.roles.size(); ++role) {
            const std::uint32_t etp = layouts_of(role).expert_tensor_digits;
            for (const Slot& slot : program_.roles[role].slots) {
                const Segment& segment = program_.segment_of(slot);
                for (std::size_t o = 0; o < segment.ops.size(); ++o) {
                    const std::int64_t layer = layer_of(segment.ops[o], etp);
                    if (layer < 0) {
                        continue;
                    }
                    load_.routers[index(slot.segment)][o] = static_cast<std::uint16_t>(layer + 1);
                    std::uint32_t& first = load_.first_draw[role][static_cast<std::size_t>(layer)];
                    if (first == StepLoad::kNone) {
                        first = draws_of_role_[role];
                        draws_of_role_[role] += load_.micro_batches;
                    }
                }
            }
        }
    }

    const LayoutAssignment& layouts_of(std::size_t role) const {
        const auto found = std::ranges::find_if(parties_, [&](const StageParty& party) {
            return party.holds(static_cast<std::int32_t>(role));
        });
        ORRERY_CHECK(found != parties_.end());
        return found->layouts;
    }

    void find_columns() {
        load_.column_of.assign(program_.kernels.size(), StepLoad::kNone);
        std::map<std::vector<std::int64_t>, std::uint32_t> known;
        for (std::size_t s = 0; s < program_.segments.size(); ++s) {
            for (std::size_t o = 0; o < program_.segments[s].ops.size(); ++o) {
                const Op& op = program_.segments[s].ops[o];
                const std::uint16_t router = load_.routers[s][o];
                if (router == 0 || op.kind() != OpKind::kernel) {
                    continue;
                }
                std::uint32_t& column = load_.column_of[index(op.payload.kernel())];
                if (column == StepLoad::kNone) {
                    const Column own = column_of(op, load_.rows_of_router[router - 1U]);
                    const auto [found, added] =
                        known.try_emplace(own.key(), static_cast<std::uint32_t>(columns_.size()));
                    column = found->second;
                    if (added) {
                        columns_.push_back(own);
                        out_.causes.push_back(op.cause);
                    }
                }
            }
        }
    }

    Column column_of(const Op& op, std::int64_t rows) const {
        Column column{.call = program_.kernel(op), .cause = op.cause, .rows = rows};
        column.grouped = is_grouped(column.call);
        column.weights = column.grouped;
        std::int64_t own_rows = 0;
        for (const Operand& operand : operands_of(op)) {
            const RoutedTensor* const tensor = routed(operand);
            if (tensor == nullptr || !tensor->with_experts) {
                column.fixed += program_.tensors[index(operand.tensor)].bytes.count();
                continue;
            }
            own_rows = tensor->rows;
            column.weights = column.weights && operand.access == Access::read;
        }
        column.fixed = std::min(column.fixed, column.call.bytes);
        for (std::size_t d = 0; d < 2 && column.row_dim < 0; ++d) {
            const std::int64_t extent = column.call.dims[d];
            if (extent > 0 && own_rows > 0 && extent % own_rows == 0) {
                column.row_dim = static_cast<int>(d);
            }
        }
        return column;
    }

    // The position of a role's ranks among the ranks that share experts.
    struct Place {
        RankId rank{};
        std::uint32_t group = 0;
        std::uint32_t part = 0;  // of the experts
    };

    void draw_all() {
        std::vector<std::vector<Place>> places(program_.roles.size());
        load_.first_of_rank.push_back(0);
        for (std::uint32_t r = 0; r < program_.num_ranks(); ++r) {
            const auto rank = to_id<RankId>(r);
            const std::size_t role = index(program_.role_of(rank));
            const LayoutAssignment& layouts = layouts_of(role);
            const std::uint32_t others = others_of(layouts);
            places[role].push_back(
                {.rank = rank,
                 .group = layouts.mesh.combined_coordinate(rank, others),
                 .part = layouts.mesh.combined_coordinate(rank, layouts.expert_digits)});
            load_.first_of_rank.push_back(load_.first_of_rank.back() + draws_of_role_[role]);
        }
        load_.loads.resize(load_.first_of_rank.back());
        out_.rows_of_rank.assign(program_.num_ranks(), 0);
        for (std::size_t role = 0; role < program_.roles.size(); ++role) {
            for (std::size_t layer = 0; layer < load_.rows_of_router.size(); ++layer) {
                if (load_.first_draw[role][layer] != StepLoad::kNone) {
                    draw_layer(role, layer, places[role]);
                }
            }
            over_the_mean(places[role]);
        }
    }

    static std::uint32_t others_of(const LayoutAssignment& layouts) {
        const auto all = (std::uint32_t{1} << layouts.mesh.digits().size()) - 1;
        return all & ~(layouts.expert_digits | layouts.expert_tensor_digits |
                       std::uint32_t{1} << layouts.pipeline_digit);
    }

    void draw_layer(std::size_t role, std::size_t layer, const std::vector<Place>& places) {
        const LayoutAssignment& layouts = layouts_of(role);
        const std::uint32_t parts = layouts.mesh.combined_size(layouts.expert_digits);
        const std::uint32_t groups = layouts.mesh.combined_size(others_of(layouts));
        const std::int64_t tokens =
            local_extent(model_.seq_length, kSequence, layouts.residual, layouts.mesh) *
            plan_.micro_batch_size *
            layouts.mesh.combined_size(layouts.expert_digits | layouts.expert_tensor_digits);
        const double all = static_cast<double>(tokens) * static_cast<double>(draw_.topk);
        const ExpertCounts counts(draw_, static_cast<std::int64_t>(layer));
        const auto of_part = static_cast<std::size_t>(draw_.experts) / parts;
        std::vector<StepLoad::OfRank> drawn(std::size_t{groups} * parts);
        std::vector<double> sums(places.size(), 0);
        std::vector<double> rows_of(drawn.size());
        LayerRows rows{.layer = static_cast<std::int64_t>(layer), .role = to_id<RoleId>(role)};
        rows.of_experts.assign(static_cast<std::size_t>(draw_.experts), 0);
        double taken = 0;
        rows.mean_of_most = 0;
        for (std::uint32_t m = 0; m < load_.micro_batches; ++m) {
            for (std::uint32_t g = 0; g < groups; ++g) {
                const std::vector<double> of_experts = counts.of(m, g, tokens);
                double most = 0;
                double sum = 0;
                for (std::uint32_t p = 0; p < parts; ++p) {
                    const std::span<const double> own{&of_experts[p * of_part], of_part};
                    const double own_rows = std::accumulate(own.begin(), own.end(), 0.0);
                    rows_of[std::size_t{g} * parts + p] = own_rows;
                    drawn[std::size_t{g} * parts + p] = {
                        .level = levels_.of(own),
                        .share = static_cast<std::uint32_t>(std::lround(own_rows / all * 1e6))};
                    most = std::max(most, own_rows);
                    sum += own_rows;
                }
                rows.mean_of_most += sum > 0 ? most * parts / sum : 1;
                taken += sum;
                for (std::size_t e = 0; e < of_experts.size(); ++e) {
                    rows.of_experts[e] += of_experts[e];
                }
            }
            const std::uint32_t first = load_.first_draw[role][layer];
            for (std::size_t i = 0; i < places.size(); ++i) {
                const std::size_t at = std::size_t{places[i].group} * parts + places[i].part;
                load_.loads[load_.first_of_rank[index(places[i].rank)] + first + m] = drawn[at];
                sums[i] += rows_of[at];
                out_.rows_of_rank[index(places[i].rank)] += rows_of[at];
            }
        }
        const double draws = static_cast<double>(load_.micro_batches) * groups;
        rows.mean_of_most /= draws;
        rows.dropped = 1 - taken / (all * draws);
        const auto busiest = std::ranges::max_element(sums) - sums.begin();
        rows.busiest = places[static_cast<std::size_t>(busiest)].rank;
        const double mean =
            std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(sums.size());
        rows.most = mean > 0 ? sums[static_cast<std::size_t>(busiest)] / mean : 1;
        for (double& of : rows.of_experts) {
            of = taken > 0 ? of * static_cast<double>(draw_.experts) / taken : 1;
        }
        out_.layers.push_back(std::move(rows));
    }

    void over_the_mean(const std::vector<Place>& places) {
        double sum = 0;
        for (const Place& place : places) {
            sum += out_.rows_of_rank[index(place.rank)];
        }
        for (const Place& place : places) {
            double& rows = out_.rows_of_rank[index(place.rank)];
            rows = sum > 0 ? rows * static_cast<double>(places.size()) / sum : 0;
        }
    }

    void add_kernels() {
        load_.rows_of_level = levels_.rows();
        load_.num_levels = static_cast<std::uint32_t>(levels_.rows().size());
        for (const Column& column : columns_) {
            const std::int64_t multiple = column.call.dtype != Dtype::fp8        ? 1
                                          : plan_.fp8_recipe == Fp8Recipe::mxfp8 ? 32
                                                                                 : 16;
            for (std::size_t level = 0; level < levels_.rows().size(); ++level) {
                load_.kernels.push_back(
                    static_cast<std::uint32_t>(program_.kernels.size() + out_.kernels.size()));
                out_.kernels.push_back(
                    column.of(levels_.experts()[level], levels_.rows()[level], multiple));
            }
        }
    }

    const Transformer& model_;
    const ParallelPlan& plan_;
    const Program& program_;
    std::vector<const RoutedTensor*> of_tensor_;  // by TensorId; null: its number of rows is known
    RouterDraw draw_;
    std::vector<StageParty> parties_;
    std::vector<std::uint32_t> draws_of_role_;
    std::vector<Column> columns_;
    Levels levels_;
    StepLoad load_;
    RoutedStep out_;
};

}  // namespace

std::optional<RoutedStep> route_step(const Transformer& model,
                                     const ParallelPlan& plan,
                                     const Program& program,
                                     std::span<const RoutedTensor> routed) {
    if (plan.moe_fused_kernels || is_even(plan.moe_router_load) ||
        std::ranges::none_of(routed, &RoutedTensor::with_experts)) {
        return std::nullopt;
    }
    return StepRouter(model, plan, program, routed).route();
}

}  // namespace orrery
