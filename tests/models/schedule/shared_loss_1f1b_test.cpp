// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "tests/models/schedule/pipeline_clock.h"

namespace orrery {
namespace {

// How far each stage has come in its order.
struct Walk {
    std::vector<StageOrder> orders;
    std::vector<std::size_t> place;

    const WorkItem* next(std::size_t stage) const {
        const bool ended = place[stage] == orders[stage].size();
        return ended ? nullptr : &orders[stage][place[stage]];
    }
    bool has_done(std::size_t stage, Pass pass, std::int32_t micro_batch) const {
        const auto end = orders[stage].begin() + static_cast<std::ptrdiff_t>(place[stage]);
        return std::find(orders[stage].begin(),
                         end,
                         WorkItem{.pass = pass, .micro_batch = micro_batch}) != end;
    }
    bool all_have_done(Pass pass, std::int32_t micro_batch) const {
        return std::ranges::all_of(std::views::iota(std::size_t{0}, orders.size()),
                                   [&](std::size_t s) { return has_done(s, pass, micro_batch); });
    }
    bool may_run(std::size_t stage) const {
        const WorkItem* item = next(stage);
        if (item == nullptr) {
            return false;
        }
        const std::size_t last = orders.size() - 1;
        switch (item->pass) {
            case Pass::loss_input:
                return stage != last || has_done(last, Pass::forward, item->micro_batch);
            case Pass::loss_forward:
                return has_done(last, Pass::loss_input, item->micro_batch);
            case Pass::loss_backward:
                return all_have_done(Pass::loss_forward, item->micro_batch);
            case Pass::embedding_forward:
                return true;
            case Pass::embedding_gradient:
                return stage != 0 || has_done(0, Pass::backward, item->micro_batch);
            case Pass::embedding_backward:
                return has_done(0, Pass::embedding_gradient, item->micro_batch);
            case Pass::forward:
                return stage == 0 ? all_have_done(Pass::embedding_forward, item->micro_batch)
                                  : has_done(stage - 1, Pass::forward, item->micro_batch);
            default:
                return stage == last ? all_have_done(Pass::loss_backward, item->micro_batch)
                                     : has_done(stage + 1, Pass::backward, item->micro_batch);
        }
    }
};

// True if all stages come to the end.
bool walks_to_the_end(const ScheduleShape& shape) {
    Walk walk;
    for (std::int32_t s = 0; s < shape.stages; ++s) {
        walk.orders.push_back(shared_loss_1f1b(shape, s));
    }
    walk.place.resize(walk.orders.size(), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t s = 0; s < walk.orders.size(); ++s) {
            if (walk.may_run(s)) {
                ++walk.place[s];
                moved = true;
            }
        }
    }
    return std::ranges::all_of(std::views::iota(std::size_t{0}, walk.orders.size()),
                               [&](std::size_t s) { return walk.next(s) == nullptr; });
}

TEST(SharedLoss1f1b, DoesEachPassOnceAndNeverDeadlocks) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        for (std::int32_t s = 0; s < shape.stages; ++s) {
            std::map<Pass, std::vector<std::int32_t>> done;
            for (const WorkItem& item : shared_loss_1f1b(shape, s)) {
                done[item.pass].push_back(item.micro_batch);
            }
            EXPECT_EQ(done.size(), 8U) << text(shape);
            for (const auto& [pass, of_kind] : done) {
                EXPECT_EQ(std::ssize(of_kind), shape.micro_batches) << text(shape);
                EXPECT_TRUE(std::ranges::is_sorted(of_kind)) << text(shape);
            }
        }
        EXPECT_TRUE(walks_to_the_end(shape)) << text(shape);
    }
}

TEST(SharedLoss1f1b, KeepsTwoMicroBatchesMoreThan1f1b) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        for (std::int32_t s = 0; s < shape.stages; ++s) {
            std::int32_t in_flight = 0;
            std::int32_t most = 0;
            for (const WorkItem& item : shared_loss_1f1b(shape, s)) {
                in_flight += item.pass == Pass::forward ? 1 : item.pass == Pass::backward ? -1 : 0;
                most = std::max(most, in_flight);
            }
            EXPECT_EQ(most, std::min(shape.stages - s + 2, shape.micro_batches)) << text(shape);
        }
    }
}

// NCCL runs the exchanges of a group in the order in which each rank posts them.
TEST(SharedLoss1f1b, AllStagesExchangeInOneOrder) {
    const auto exchanges = [](const ScheduleShape& shape, std::int32_t stage) {
        StageOrder order = shared_loss_1f1b(shape, stage);
        std::erase_if(order, [](const WorkItem& item) {
            return item.pass == Pass::forward || item.pass == Pass::backward ||
                   item.pass == Pass::embedding_backward;
        });
        return order;
    };
    for (const ScheduleShape& shape : many_shapes(1)) {
        for (std::int32_t s = 1; s < shape.stages; ++s) {
            EXPECT_EQ(exchanges(shape, s), exchanges(shape, 0)) << text(shape) << " stage " << s;
        }
    }
}

TEST(SharedLoss1f1b, TheLossStandsBetweenTheLastStagesPasses) {
    const StageOrder order = shared_loss_1f1b({.stages = 2, .micro_batches = 1}, 1);
    const StageOrder expected{{Pass::embedding_forward, 0, 0},
                              {Pass::forward, 0, 0},
                              {Pass::loss_input, 0, 0},
                              {Pass::loss_forward, 0, 0},
                              {Pass::loss_backward, 0, 0},
                              {Pass::backward, 0, 0},
                              {Pass::embedding_gradient, 0, 0},
                              {Pass::embedding_backward, 0, 0}};
    EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace orrery
