// SPDX-License-Identifier: Apache-2.0
// Random pairs of layouts: the steps that models/plan/layout.h derives, executed by 8 ranks that
// send each other messages, leave every rank with its part of the global tensor.
#include "runtime/state/redistribute.h"

#include <map>
#include <random>

#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

using Shape = std::vector<std::int64_t>;

// A value for every element of the global tensor, exact in fp32 even summed over ranks.
float value_at(const Shape& shape, std::int64_t s, std::int64_t b, std::int64_t w) {
    return static_cast<float>((s * shape[1] + b) * shape[2] + w + 1);
}

// What `rank` holds under a layout: of partial sums, those along an axis add up to the value, rank
// by rank different.
std::vector<float> local_part(const Shape& shape,
                              const Layout& layout,
                              const Mesh& mesh,
                              RankId rank) {
    float share = 1;
    for (std::uint32_t axis = 0; axis < layout.size(); ++axis) {
        if (layout[axis] == partial()) {
            // 1 for the first coordinate, then -1, 1, … with the last making the sum 1.
            const std::uint32_t c = mesh.coordinate(rank, axis);
            const bool even = mesh.size(axis) % 2 == 0;
            share *= c == 0 && even ? 2.f : (c % 2 == 0 ? 1.f : -1.f);
        }
    }
    std::vector<DimensionRange> ranges;
    for (int dim = 0; dim < 3; ++dim) {
        ranges.push_back(
            local_range(shape[static_cast<std::size_t>(dim)], dim, layout, mesh, rank));
    }
    std::vector<float> part;
    for (std::int64_t s = 0; s < ranges[0].count; ++s) {
        for (std::int64_t b = 0; b < ranges[1].count; ++b) {
            for (std::int64_t w = 0; w < ranges[2].count; ++w) {
                part.push_back(
                    share *
                    value_at(shape, ranges[0].first + s, ranges[1].first + b, ranges[2].first + w));
            }
        }
    }
    return part;
}

struct Case {
    Mesh mesh;
    Shape shape;
    Layout from;
    Layout to;
};

// A random pair that transition() accepts and whose steps can be executed.
Case draw(std::mt19937& random) {
    const auto below = [&](std::uint32_t n) { return static_cast<int>(random() % n); };
    const std::vector<std::vector<std::uint32_t>> sizes{{2, 2, 2}, {4, 2}, {2, 4}, {8}, {2, 1, 4}};
    std::vector<MeshDigit> axes;
    for (const std::uint32_t size : sizes[static_cast<std::size_t>(below(5))]) {
        axes.push_back({"a" + std::to_string(axes.size()), size});
    }
    Case c{.mesh = Mesh{axes}, .shape = {8, 16, 24}, .from = {}, .to = {}};
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        const int kind = below(6);
        const DigitPlacement a = kind < 4 ? sharded(below(3)) : kind < 5 ? partial() : replicated();
        DigitPlacement b = below(3) == 0 ? replicated() : sharded(below(3));
        b = a == replicated() ? a : b;  // taking a slice is no communication
        c.from.push_back(a);
        c.to.push_back(b);
    }
    return c;
}

// The layouts before and after each step.
std::vector<std::pair<LayoutStep, Layout>> steps_of(const Case& c) {
    std::vector<std::pair<LayoutStep, Layout>> steps;
    Layout now = c.from;
    for (const LayoutStep& step : transition(c.from, c.to)) {
        for (std::uint32_t axis = 0; axis < now.size(); ++axis) {
            now[axis] = (step.digits >> axis & 1u) != 0 ? c.to[axis] : now[axis];
        }
        steps.emplace_back(step, now);
    }
    return steps;
}

bool executable(const Case& c) {
    Layout before = c.from;
    for (const auto& [step, after] : steps_of(c)) {
        const Redistribution r{c.mesh, RankId{0}, step, {}, c.shape, before, after};
        if (!why_not_redistribute(r).empty()) {
            return false;
        }
        // An exchange over several axes at once is one over a single axis for every pair.
        const bool several = (step.digits & (step.digits - 1)) != 0;
        if (step.kind == CollectiveKind::all_to_all && several) {
            return false;
        }
        before = after;
    }
    return true;
}

void check_case(const Case& c, Transport& transport, std::uint32_t& communicators) {
    const auto rank = static_cast<RankId>(transport.rank());
    std::vector<float> part = local_part(c.shape, c.from, c.mesh, rank);
    Layout before = c.from;
    for (const auto& [step, after] : steps_of(c)) {
        const std::vector<RankId> members = c.mesh.members(
            {.name = {}, .digits = step.digits, .subset = {}, .explicit_ranks = {}}, rank);
        std::vector<std::uint32_t> numbers;
        for (const RankId member : members) {
            numbers.push_back(static_cast<std::uint32_t>(index(member)));
        }
        Communicator communicator{transport, numbers, communicators++};
        std::vector<float> next(static_cast<std::size_t>(local_elements(c.shape, after, c.mesh)));
        const Redistribution r{c.mesh, rank, step, members, c.shape, before, after};
        const Result<void> done =
            redistribute(r, const_view_of(part), view_of(std::span{next}), communicator);
        ASSERT_TRUE(done) << done.error().to_string();
        part = std::move(next);
        before = after;
    }
    EXPECT_EQ(part, local_part(c.shape, c.to, c.mesh, rank));
}

TEST(Redistribute, RandomPairsOfLayoutsLeaveEveryRankItsPart) {
    constexpr unsigned kSeed = 20'260'917;
    SCOPED_TRACE(kSeed);
    std::mt19937 random{kSeed};
    std::vector<Case> cases;
    std::map<CollectiveKind, int> kinds;
    while (cases.size() < 150) {
        if (const Case c = draw(random); executable(c) && c.from != c.to) {
            cases.push_back(c);
            for (const auto& [step, after] : steps_of(c)) {
                ++kinds[step.kind];
            }
        }
    }
    for (const auto kind : {CollectiveKind::all_gather,
                            CollectiveKind::reduce_scatter,
                            CollectiveKind::all_reduce,
                            CollectiveKind::all_to_all}) {
        EXPECT_GT(kinds[kind], 10) << name(kind);
    }
    run_as_ranks(8, [&](std::unique_ptr<Transport> transport) {
        std::uint32_t communicators = 1;
        for (const Case& c : cases) {
            check_case(c, *transport, communicators);
        }
    });
}

TEST(Redistribute, ExtentsThatDoNotDivideArePadded) {
    const Mesh mesh{{{"tp", 4}}};
    const Layout layout{sharded(0)};
    EXPECT_EQ(local_range(10, 0, layout, mesh, RankId{0}).count, 3);
    EXPECT_EQ(local_range(10, 0, layout, mesh, RankId{3}).first, 9);
    EXPECT_EQ(local_range(10, 1, layout, mesh, RankId{3}).count, 10);
}

TEST(Redistribute, LaterAxesCutFirst) {
    const Mesh mesh{{{"tp", 2}, {"cp", 2}}};  // rank = tp + 2 cp
    const Layout layout{sharded(0), sharded(0)};
    EXPECT_EQ(local_range(8, 0, layout, mesh, RankId{1}).first, 2);
    EXPECT_EQ(local_range(8, 0, layout, mesh, RankId{2}).first, 4);
    // Gathering along cp alone would leave each rank two pieces that are apart.
    const Layout without_cp{sharded(0), replicated()};
    const std::vector<std::int64_t> shape{8};
    const Redistribution r{
        mesh, RankId{0}, {CollectiveKind::all_gather, 2}, {}, shape, layout, without_cp};
    EXPECT_NE(why_not_redistribute(r), "");
    const Layout without_tp{replicated(), sharded(0)};
    const Redistribution fine{
        mesh, RankId{0}, {CollectiveKind::all_gather, 1}, {}, shape, layout, without_tp};
    EXPECT_EQ(why_not_redistribute(fine), "");
}

TEST(Redistribute, EarlierAxesCutTheWidthFirst) {
    const Mesh mesh{{{"tp", 2}, {"cp", 2}}};
    const Layout layout{sharded(kWidth), sharded(kWidth)};
    EXPECT_EQ(local_range(8, kWidth, layout, mesh, RankId{1}).first, 4);
    EXPECT_EQ(local_range(8, kWidth, layout, mesh, RankId{2}).first, 2);
}

// Queries, keys and values side by side: tokens against heads, each of the three parts cut.
TEST(Redistribute, AHeadExchangeCutsEachPartOfTheWidth) {
    const Mesh mesh{{{"tp", 2}, {"cp", 2}}};
    const Shape shape{4, 1, 16};
    const std::vector<std::int64_t> parts{8, 4, 4};
    const Layout tokens{sharded(kWidth), sharded(kSequence)};
    const Layout heads{sharded(kWidth), sharded(kWidth)};
    // The columns of a rank, part by part.
    const auto columns = [&](const Layout& layout, RankId rank) {
        std::vector<std::int64_t> found;
        std::int64_t first = 0;
        for (const std::int64_t part : parts) {
            const DimensionRange own = local_range(part, kWidth, layout, mesh, rank);
            for (std::int64_t c = 0; c < own.count; ++c) {
                found.push_back(first + own.first + c);
            }
            first += part;
        }
        return found;
    };
    const auto values = [&](const Layout& layout, RankId rank) {
        std::vector<float> found;
        const DimensionRange rows = local_range(shape[0], kSequence, layout, mesh, rank);
        for (std::int64_t s = rows.first; s < rows.first + rows.count; ++s) {
            for (const std::int64_t c : columns(layout, rank)) {
                found.push_back(value_at(shape, s, 0, c));
            }
        }
        return found;
    };
    run_as_ranks(4, [&](std::unique_ptr<Transport> transport) {
        const auto rank = static_cast<RankId>(transport->rank());
        const std::uint32_t t = transport->rank() % 2;
        const std::vector<RankId> members{RankId{t}, RankId{t + 2}};
        Communicator communicator{*transport, {t, t + 2}, 1};
        for (const bool back : {false, true}) {
            const Layout& from = back ? heads : tokens;
            const Layout& to = back ? tokens : heads;
            const std::vector<float> in = values(from, rank);
            std::vector<float> out(in.size());
            const Redistribution r{.mesh = mesh,
                                   .rank = rank,
                                   .step = {CollectiveKind::all_to_all, 2},
                                   .members = members,
                                   .shape = shape,
                                   .from = from,
                                   .to = to,
                                   .column_parts = parts};
            ASSERT_EQ(why_not_redistribute(r), "");
            ASSERT_TRUE(redistribute(r, const_view_of(in), view_of(std::span{out}), communicator));
            EXPECT_EQ(out, values(to, rank));
        }
    });
}

TEST(Redistribute, MirroredPiecesStayWhereTheyAre) {
    const Mesh mesh{{{"cp", 2}}};
    const Shape shape{8, 1, 4};
    const Layout mirrored{sharded_mirrored(kSequence)};
    const Layout whole{replicated()};
    const Redistribution r{
        mesh, RankId{0}, {CollectiveKind::all_gather, 1}, {}, shape, mirrored, whole};
    EXPECT_NE(why_not_redistribute(r), "");
}

}  // namespace
}  // namespace orrery
