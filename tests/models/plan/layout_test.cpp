// SPDX-License-Identifier: Apache-2.0
// Layouts on real numbers: small tensors are sharded, replicated or split into partial sums over
// the ranks of a mesh in one process, the derived collectives move them, and what comes out is
// compared with the global tensor.
#include "models/plan/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace orrery {
namespace {

using Shape = std::vector<std::int64_t>;

// Integers, so that sums do not depend on their order.
struct Array {
    Shape shape;
    std::vector<std::int64_t> values;
    bool operator==(const Array&) const = default;
};
using Distributed = std::vector<Array>;  // by rank

std::int64_t size_of(const Shape& shape) {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape) {
        size *= extent;
    }
    return size;
}

Array zeros(const Shape& shape) {
    return {shape, std::vector<std::int64_t>(static_cast<std::size_t>(size_of(shape)), 0)};
}

Array random_array(const Shape& shape, std::mt19937_64& random) {
    Array a = zeros(shape);
    for (std::int64_t& v : a.values) {
        v = static_cast<std::int64_t>(random() % 19) - 9;
    }
    return a;
}

// Copies the block of `part` at `offset` along `dim` of the larger `whole`, or the other way.
void move_block(Array& whole, Array& part, std::size_t dim, std::int64_t offset, bool out) {
    std::int64_t inner = 1;
    for (std::size_t d = dim + 1; d < whole.shape.size(); ++d) {
        inner *= whole.shape[d];
    }
    const std::int64_t rows = part.shape[dim];
    const std::int64_t outer = size_of(part.shape) / (rows * inner);
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < rows * inner; ++i) {
            auto& w =
                whole.values[static_cast<std::size_t>((o * whole.shape[dim] + offset) * inner + i)];
            auto& p = part.values[static_cast<std::size_t>(o * rows * inner + i)];
            (out ? p : w) = out ? w : p;
        }
    }
}

Array slice(Array whole, int dim, std::int64_t parts, std::int64_t which) {
    const auto d = static_cast<std::size_t>(dim);
    Shape shape = whole.shape;
    shape[d] /= parts;
    Array part = zeros(shape);
    move_block(whole, part, d, which * shape[d], true);
    return part;
}

Array concatenated(std::vector<Array> parts, int dim) {
    const auto d = static_cast<std::size_t>(dim);
    Shape shape = parts[0].shape;
    shape[d] *= std::ssize(parts);
    Array whole = zeros(shape);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        move_block(whole, parts[i], d, static_cast<std::int64_t>(i) * parts[i].shape[d], false);
    }
    return whole;
}

Array sum(const std::vector<Array>& parts) {
    Array total = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
        for (std::size_t v = 0; v < total.values.size(); ++v) {
            total.values[v] += parts[i].values[v];
        }
    }
    return total;
}

// Every rank's part of `global`. Partial sums: random parts, the last one makes up the difference.
Distributed distribute(const Array& global,
                       const Layout& layout,
                       const Mesh& mesh,
                       std::mt19937_64& random) {
    // From the last axis to the first: that is the order in which nested slices are taken.
    std::function<void(const Array&, std::size_t, std::size_t, Distributed&)> place =
        [&](const Array& part, std::size_t axis, std::size_t rank, Distributed& ranks) {
            if (axis == 0) {
                ranks[rank] = part;
                return;
            }
            const auto a = static_cast<std::uint32_t>(axis - 1);
            const std::int64_t size = mesh.size(a);
            Array rest = part;
            for (std::int64_t c = 0; c < size; ++c) {
                Array mine = part;
                if (layout[a].placement == Placement::shard) {
                    mine = slice(part, layout[a].dim, size, c);
                } else if (layout[a].placement == Placement::partial) {
                    mine = c + 1 == size ? rest : random_array(part.shape, random);
                    for (std::size_t v = 0; v < rest.values.size(); ++v) {
                        rest.values[v] -= mine.values[v];
                    }
                }
                place(mine, axis - 1, rank + static_cast<std::size_t>(c) * mesh.stride(a), ranks);
            }
        };
    Distributed ranks(mesh.num_ranks());
    place(global, mesh.digits().size(), 0, ranks);
    return ranks;
}

// One axis of a step at a time: collectives over several axes are nested ones over each.
Distributed apply(const Distributed& before,
                  CollectiveKind kind,
                  std::uint32_t axis,
                  DigitPlacement from,
                  DigitPlacement to,
                  const Mesh& mesh) {
    Distributed after(before.size());
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
        const auto place = mesh.coordinate(to_id<RankId>(rank), axis);
        const std::int64_t size = mesh.size(axis);
        std::vector<Array> peers;
        for (const RankId peer :
             mesh.members({.name = "", .digits = 1u << axis}, to_id<RankId>(rank))) {
            peers.push_back(before[index(peer)]);
        }
        switch (kind) {
            case CollectiveKind::all_reduce:
                after[rank] = sum(peers);
                break;
            case CollectiveKind::reduce_scatter:
                after[rank] = slice(sum(peers), to.dim, size, place);
                break;
            case CollectiveKind::all_gather:
                after[rank] = concatenated(peers, from.dim);
                break;
            case CollectiveKind::all_to_all:
                for (Array& peer : peers) {
                    peer = slice(peer, to.dim, size, place);
                }
                after[rank] = concatenated(peers, from.dim);
                break;
            default:
                ADD_FAILURE() << "unexpected collective";
        }
    }
    return after;
}

// The steps that transition() names, then the slices that it leaves.
Distributed moved(Distributed now, const Layout& from, const Layout& to, const Mesh& mesh) {
    Layout layout = from;
    for (const LayoutStep& step : transition(from, to)) {
        // Undone from the innermost axis outwards, done the other way round.
        for (std::uint32_t i = 0; i < layout.size(); ++i) {
            const bool gathers = step.kind == CollectiveKind::all_gather;
            const auto axis = gathers ? i : static_cast<std::uint32_t>(layout.size()) - 1 - i;
            if ((step.digits >> axis & 1u) != 0) {
                now = apply(now, step.kind, axis, layout[axis], to[axis], mesh);
                layout[axis] = to[axis];
            }
        }
    }
    for (auto axis = static_cast<std::uint32_t>(layout.size()); axis-- > 0;) {
        if (layout[axis] == to[axis]) {
            continue;
        }
        EXPECT_EQ(layout[axis], replicated());
        EXPECT_EQ(to[axis].placement, Placement::shard);
        for (std::size_t rank = 0; rank < now.size(); ++rank) {
            now[rank] = slice(now[rank],
                              to[axis].dim,
                              mesh.size(axis),
                              mesh.coordinate(to_id<RankId>(rank), axis));
        }
    }
    return now;
}

// Every placement along an axis.
std::vector<DigitPlacement> placements(int dims) {
    std::vector<DigitPlacement> all{replicated(), partial()};
    for (int d = 0; d < dims; ++d) {
        all.push_back(sharded(d));
    }
    return all;
}

TEST(Transition, MovesATensorBetweenAnyTwoPlacementsOfOneAxis) {
    std::mt19937_64 random(1);
    for (const std::uint32_t size : {2u, 3u, 4u}) {
        const Mesh mesh({{"a", 2}, {"b", size}, {"c", 2}});
        const Array global = random_array({12, 24, 12}, random);
        for (const DigitPlacement from : placements(3)) {
            for (const DigitPlacement to : placements(3)) {
                if (to == partial() && from != partial()) {
                    continue;
                }
                const Layout before{replicated(), from, sharded(1)};
                const Layout after{replicated(), to, sharded(1)};
                const auto start = distribute(global, before, mesh, random);
                if (from == partial() && to == partial()) {
                    EXPECT_TRUE(transition(before, after).empty());
                    continue;
                }
                if (from == sharded(1) || to == sharded(1)) {
                    continue;  // below: which of two axes is the inner one is not theirs to say
                }
                EXPECT_TRUE(moved(start, before, after, mesh) ==
                            distribute(global, after, mesh, random))
                    << size;
            }
        }
    }
}

// Axes that differ in what they shard, so that their order plays no part.
TEST(Transition, MovesATensorBetweenRandomLayouts) {
    std::mt19937_64 random(2);
    int collectives = 0;
    for (int round = 0; round < 400; ++round) {
        const Mesh mesh({{"a", static_cast<std::uint32_t>(1 + random() % 3)},
                         {"b", static_cast<std::uint32_t>(1 + random() % 3)},
                         {"c", static_cast<std::uint32_t>(1 + random() % 2)}});
        // Axis i shards dimension i, or dimension 3 + i: no two axes meet.
        const Array global = random_array({6, 6, 2, 6, 6, 2}, random);
        Layout from(3);
        Layout to(3);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const auto dim = static_cast<int>(axis);
            const DigitPlacement all[] = {replicated(), sharded(dim), sharded(3 + dim), partial()};
            from[axis] = all[random() % 4];
            to[axis] = all[random() % 3];
        }
        collectives += static_cast<int>(transition(from, to).size());
        EXPECT_TRUE(moved(distribute(global, from, mesh, random), from, to, mesh) ==
                    distribute(global, to, mesh, random))
            << "round " << round;
    }
    EXPECT_GT(collectives, 300);
}

TEST(Transition, SharesACollectiveBetweenAxesAndScattersFirst) {
    const Layout from{partial(), partial(), partial(), sharded(0)};
    const Layout to{replicated(), sharded(0), sharded(0), replicated()};
    EXPECT_EQ(transition(from, to),
              (std::vector<LayoutStep>{{CollectiveKind::reduce_scatter, 0b0110},
                                       {CollectiveKind::all_reduce, 0b0001},
                                       {CollectiveKind::all_gather, 0b1000}}));
}

TEST(TransitionDeathTest, MakesNoPartialSumsOfWhatIsWhole) {
    EXPECT_DEATH(transition({replicated()}, {partial()}), "");
    EXPECT_DEATH(transition({sharded(0)}, {partial()}), "");
}

// y[s, b, o] = sum over i of x[s, b, i] w[i, o].
Array product(const Array& x, const Array& w) {
    Array y = zeros({x.shape[0], x.shape[1], w.shape[1]});
    const std::int64_t rows = x.shape[0] * x.shape[1];
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t o = 0; o < w.shape[1]; ++o) {
            for (std::int64_t i = 0; i < w.shape[0]; ++i) {
                y.values[static_cast<std::size_t>(r * w.shape[1] + o)] +=
                    x.values[static_cast<std::size_t>(r * w.shape[0] + i)] *
                    w.values[static_cast<std::size_t>(i * w.shape[1] + o)];
            }
        }
    }
    return y;
}

Array transposed(const Array& w) {
    Array t = zeros({w.shape[1], w.shape[0]});
    for (std::int64_t i = 0; i < w.shape[0]; ++i) {
        for (std::int64_t o = 0; o < w.shape[1]; ++o) {
            t.values[static_cast<std::size_t>(o * w.shape[0] + i)] =
                w.values[static_cast<std::size_t>(i * w.shape[1] + o)];
        }
    }
    return t;
}

// dw[i, o] = sum over tokens of x[s, b, i] dy[s, b, o].
Array weight_product(const Array& x, const Array& dy) {
    const std::int64_t rows = x.shape[0] * x.shape[1];
    const Array flat_x{{rows, x.shape[2]}, x.values};
    Array tall = transposed(flat_x);
    tall.shape = {tall.shape[0], 1, tall.shape[1]};
    const Array dw = product(tall, {{rows, dy.shape[2]}, dy.values});
    return {{x.shape[2], dy.shape[2]}, dw.values};
}

// A mesh axis that the tokens are sharded along, one that weights are, and how x comes.
struct GemmCase {
    Mesh mesh;
    Layout x;
    Layout w;
};

std::vector<GemmCase> gemm_cases() {
    std::vector<GemmCase> cases;
    for (const DigitPlacement tokens : {replicated(), sharded(kSequence), sharded(kBatch)}) {
        for (const DigitPlacement weight : {replicated(), sharded(kInput), sharded(kOutput)}) {
            for (const DigitPlacement x :
                 {replicated(), partial(), sharded(kSequence), sharded(kWidth)}) {
                const bool nested = tokens == sharded(kSequence) && x == tokens;
                const bool slices = x.placement == Placement::shard && weight == sharded(kInput) &&
                                    x != sharded(kWidth);
                if (!nested && !slices) {
                    cases.push_back(
                        {Mesh({{"model", 2}, {"data", 3}}), {x, tokens}, {weight, replicated()}});
                }
            }
        }
    }
    return cases;
}

// Multiplies rank by rank and compares with the whole product, in the layout that the rules say.
template <class Multiply>
Distributed by_rank(const Distributed& a, const Distributed& b, const Multiply& multiply) {
    Distributed results;
    for (std::size_t rank = 0; rank < a.size(); ++rank) {
        results.push_back(multiply(a[rank], b[rank]));
    }
    return results;
}

// Adds partial sums up and puts shards together.
Array whole(const Distributed& parts, const Layout& layout, const Mesh& mesh) {
    return moved(parts, layout, Layout(layout.size()), mesh)[0];
}

TEST(GemmLayouts, FollowTheProductItself) {
    std::mt19937_64 random(3);
    for (const GemmCase& c : gemm_cases()) {
        const Array x = random_array({12, 6, 4}, random);
        const Array w = random_array({4, 8}, random);
        const Layout needed = gemm_input(c.x, c.w);
        const auto fits = moved(distribute(x, c.x, c.mesh, random), c.x, needed, c.mesh);
        const auto weights = distribute(w, c.w, c.mesh, random);
        const Layout y = gemm_output(needed, c.w);
        EXPECT_EQ(whole(by_rank(fits, weights, product), y, c.mesh), product(x, w));

        const Array dy = random_array({12, 6, 8}, random);
        const Layout dy_layout = gemm_gradient_input(c.x, c.w);
        const auto dys = distribute(dy, dy_layout, c.mesh, random);
        const Layout dx = gemm_gradient_output(dy_layout, c.w);
        const auto transposed_product = [](const Array& a, const Array& b) {
            return product(a, transposed(b));
        };
        EXPECT_EQ(whole(by_rank(dys, weights, transposed_product), dx, c.mesh),
                  product(dy, transposed(w)));
    }
}

TEST(GemmLayouts, WeightGradientsArePartialAlongTokenAxes) {
    std::mt19937_64 random(4);
    const Mesh mesh({{"model", 2}, {"data", 3}});
    const Array x = random_array({12, 6, 4}, random);
    const Array dy = random_array({12, 6, 8}, random);
    for (const DigitPlacement tokens : {sharded(kSequence), sharded(kBatch), replicated()}) {
        for (const auto& [x_model, dy_model] :
             std::vector<std::pair<DigitPlacement, DigitPlacement>>{
                 {replicated(), replicated()},
                 {sharded(kWidth), replicated()},
                 {replicated(), sharded(kWidth)}}) {
            const Layout x_layout{x_model, tokens};
            const Layout dy_layout{dy_model, tokens};
            const auto parts = by_rank(distribute(x, x_layout, mesh, random),
                                       distribute(dy, dy_layout, mesh, random),
                                       weight_product);
            const Layout dw = weight_gradient(x_layout, dy_layout);
            EXPECT_EQ(dw[1] == partial(), tokens != replicated());
            EXPECT_EQ(whole(parts, dw, mesh), weight_product(x, dy));
        }
    }
}

TEST(LocalElements, AreThoseOfTheSlices) {
    std::mt19937_64 random(5);
    const Mesh mesh({{"a", 2}, {"b", 3}});
    for (const DigitPlacement a : placements(2)) {
        for (const DigitPlacement b : placements(2)) {
            const Layout layout{a, b};
            const auto parts = distribute(random_array({12, 18}, random), layout, mesh, random);
            for (const Array& part : parts) {
                EXPECT_EQ(local_elements({12, 18}, layout, mesh), std::ssize(part.values));
            }
        }
    }
    EXPECT_EQ(local_extent(7, 0, {sharded(0), replicated()}, mesh), 4);  // the largest share
}

}  // namespace
}  // namespace orrery
