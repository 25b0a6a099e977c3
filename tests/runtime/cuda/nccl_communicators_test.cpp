// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_communicators.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "models/lowering/lowering.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// Time that passes only when somebody pauses.
struct Clock {
    Patience::Clock::time_point now{};
    Patience patience(std::chrono::milliseconds deadline) {
        return {.deadline = deadline,
                .now = [this] { return now; },
                .pause = [this] { now += std::chrono::milliseconds{1}; }};
    }
};

// Communicators that are in progress for some looks after each call, and then well or not.
class FakeNccl final : public NcclLibrary {
public:
    struct State {
        NcclMembers of;
        NcclUniqueId id{};
        int looks = 0;  // that still find it in progress
        int result = kNcclSuccess;
        bool finalized = false;
        bool destroyed = false;
        bool aborted = false;
    };
    std::string version() const override { return "fake"; }
    std::string error_text(int status, Communicator) const override {
        return "status " + std::to_string(status);
    }
    int unique_id(NcclUniqueId& id) override {
        static std::atomic<int> next{1};
        const int number = next++;
        std::memcpy(id.data(), &number, sizeof number);
        return unique_id_status;
    }
    int init(Communicator& communicator, const NcclUniqueId& id, const NcclMembers& of) override {
        auto& state =
            made.emplace_back(std::make_unique<State>(State{.of = of, .id = id, .looks = looks}));
        communicator = state.get();
        return init_status;
    }
    int async_error(Communicator communicator, int& state) override {
        State& of = check(communicator);
        state = of.looks > 0 ? kNcclInProgress : of.result;
        of.looks = std::max(0, of.looks - 1);
        return kNcclSuccess;
    }
    int finalize(Communicator communicator) override {
        check(communicator).finalized = true;
        check(communicator).looks = looks;
        return kNcclInProgress;
    }
    int destroy(Communicator communicator) override {
        State& of = check(communicator);
        EXPECT_TRUE(of.finalized);
        EXPECT_EQ(of.looks, 0) << "destroyed while it still finalizes";
        of.destroyed = true;
        return kNcclSuccess;
    }
    int abort(Communicator communicator) override {
        check(communicator).aborted = true;
        EXPECT_FALSE(in_group);
        return kNcclSuccess;
    }
    int group_start() override {
        EXPECT_FALSE(in_group);
        in_group = true;
        return kNcclSuccess;
    }
    int group_end() override {
        EXPECT_TRUE(in_group);
        in_group = false;
        return group_status;
    }
    int call(const NcclCall& call, Communicator communicator, Stream) override {
        EXPECT_TRUE(in_group);
        check(communicator).looks = looks;
        calls.push_back(call);
        return call_status;
    }

    int looks = 3;
    int unique_id_status = kNcclSuccess;
    int init_status = kNcclInProgress;
    int call_status = kNcclSuccess;
    int group_status = kNcclInProgress;
    bool in_group = false;
    std::vector<NcclCall> calls;
    std::vector<std::unique_ptr<State>> made;

private:
    static State& check(Communicator communicator) {
        auto& state = *static_cast<State*>(communicator);
        EXPECT_FALSE(state.aborted || state.destroyed) << "a call on a communicator that is gone";
        return state;
    }
};

class Alone final : public Transport {
public:
    std::uint32_t rank() const override { return 0; }
    std::uint32_t num_ranks() const override { return 1; }
    Result<void> exchange(std::span<const Message>) override { return {}; }
    Result<void> post_send(const Message&) override { return {}; }
    Result<void> flush() override { return {}; }
};

const std::vector<NcclMembers> kTwo{{.id = 1, .ranks = {0}}, {.id = 2, .ranks = {0}}};

struct Two {
    explicit Two(std::chrono::milliseconds deadline = std::chrono::milliseconds{50}) {
        auto created = NcclCommunicators::create(nccl, kTwo, transport, clock.patience(deadline));
        EXPECT_TRUE(created);
        communicators = std::move(*created);
    }
    NcclTransfer plan() const {
        NcclTransfer both;
        both.communicators = kTwo;
        both.calls = {{.count = 1, .communicator = 0}, {.count = 2, .communicator = 1}};
        return both;
    }
    bool all(bool FakeNccl::State::*end) const {
        return std::ranges::all_of(nccl.made, [&](const auto& state) { return (*state).*end; });
    }
    bool all_aborted() const { return all(&FakeNccl::State::aborted); }
    bool all_destroyed() const { return all(&FakeNccl::State::destroyed); }
    FakeNccl nccl;
    Alone transport;
    Clock clock;
    std::unique_ptr<NcclCommunicators> communicators;
};

TEST(NcclCommunicators, WaitUntilNothingIsInProgress) {
    Two two;
    EXPECT_EQ(two.communicators->size(), 2u);
    ASSERT_TRUE(two.communicators->enqueue(two.plan(), nullptr));
    EXPECT_EQ(two.nccl.calls.size(), 2u);
    for (const auto& state : two.nccl.made) {
        EXPECT_EQ(state->looks, 0);
    }
    EXPECT_TRUE(two.communicators->check());
    EXPECT_FALSE(two.all_aborted());
}

TEST(NcclCommunicators, AreDestroyedAtAGoodEndAndAbortedAtABadOne) {
    Two good;
    good.communicators.reset();
    EXPECT_TRUE(good.all_destroyed());
    EXPECT_FALSE(good.all_aborted());
    Two silent;
    silent.nccl.looks = 100'000;  // a rank that does not finalize
    silent.communicators.reset();
    EXPECT_TRUE(silent.all_aborted());
    Two failed;
    failed.nccl.made[1]->result = kNcclRemoteError;
    failed.communicators.reset();
    EXPECT_TRUE(failed.all_aborted());
}

TEST(NcclCommunicators, LookForAWhileBeforeTheyPause) {
    Patience::Clock::time_point time{};
    int pauses = 0;
    const Patience patience{.deadline = std::chrono::milliseconds{1},
                            .spin = std::chrono::microseconds{200},
                            .now = [&] { return time += std::chrono::microseconds{50}; },
                            .pause = [&] { ++pauses; }};
    int looks = 0;
    EXPECT_TRUE(patience.wait_until([&] { return ++looks == 4; }));
    EXPECT_EQ(pauses, 0);
    looks = 0;
    EXPECT_TRUE(patience.wait_until([&] { return ++looks == 8; }));
    EXPECT_EQ(pauses, 4);
}

TEST(NcclCommunicators, NoAnswerUntilTheDeadlineAbortsAll) {
    Two two;
    two.nccl.looks = 1000;
    const Result<void> done = two.communicators->enqueue(two.plan(), nullptr);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().what.find("did not answer"), std::string::npos);
    const auto waited = two.clock.now.time_since_epoch() / std::chrono::milliseconds{1};
    EXPECT_EQ(waited, 2 * 3 + 50);  // three looks for each when it was made
    EXPECT_TRUE(two.all_aborted());
    // The error stays, and the library is not called again.
    const Result<void> again = two.communicators->enqueue(two.plan(), nullptr);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error(), done.error());
    EXPECT_EQ(two.communicators->check().error(), done.error());
    EXPECT_EQ(two.nccl.calls.size(), 2u);
}

TEST(NcclCommunicators, AnErrorOfOneAbortsAll) {
    Two two;
    two.nccl.made[1]->result = kNcclRemoteError;
    const Result<void> done = two.communicators->check();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().what.find("communicator 2"), std::string::npos) << done.error().what;
    EXPECT_NE(done.error().what.find("status 6"), std::string::npos);
    EXPECT_TRUE(two.all_aborted());
}

TEST(NcclCommunicators, ARefusedCallEndsTheGroupFirst) {
    Two two;
    two.nccl.call_status = 4;
    two.nccl.group_status = kNcclSuccess;
    ASSERT_FALSE(two.communicators->enqueue(two.plan(), nullptr));
    EXPECT_FALSE(two.nccl.in_group);
    EXPECT_EQ(two.nccl.calls.size(), 1u);
    EXPECT_TRUE(two.all_aborted());
}

TEST(NcclCommunicators, TheDeviceIsWaitedForUnlessARankFails) {
    Two two;
    int looks = 0;
    EXPECT_TRUE(two.communicators->wait([&] { return ++looks == 10; }));
    EXPECT_EQ(looks, 10);
    const Result<void> late = two.communicators->wait([] { return false; });
    ASSERT_FALSE(late);
    EXPECT_TRUE(two.all_aborted());
    Two other;
    looks = 0;
    const Result<void> failed = other.communicators->wait([&] {
        other.nccl.made[0]->result = ++looks == 5 ? kNcclRemoteError : kNcclSuccess;
        return false;
    });
    ASSERT_FALSE(failed);
    EXPECT_EQ(looks, 5);
}

TEST(NcclCommunicators, AreNotMadeWhereTheLibraryRefuses) {
    for (const bool id_fails : {true, false}) {
        FakeNccl nccl;
        (id_fails ? nccl.unique_id_status : nccl.init_status) = 1;
        Alone transport;
        Clock clock;
        const auto created = NcclCommunicators::create(
            nccl, kTwo, transport, clock.patience(std::chrono::milliseconds{5}));
        ASSERT_FALSE(created);
        EXPECT_NE(created.error().what.find("status 1"), std::string::npos);
    }
}

// Members of a communicator get the id that its first member made, whatever else they belong to.
TEST(NcclCommunicators, MembersShareTheIdOfTheirFirst) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.pipeline_model_parallel_size = 2;
    plan.data_parallel_size = 2;
    plan.micro_batch_size = 1;
    const Program program = lower(tiny_gpt(), plan);
    std::mutex mutex;
    using Key = std::pair<std::uint32_t, std::vector<std::uint32_t>>;
    std::map<Key, std::vector<NcclUniqueId>> ids;
    run_as_ranks(program.num_ranks(), [&](std::unique_ptr<Transport> transport) {
        FakeNccl nccl;
        const auto created = NcclCommunicators::create(
            nccl,
            nccl_communicators(program, static_cast<RankId>(transport->rank())),
            *transport,
            Patience{});
        ASSERT_TRUE(created) << created.error().to_string();
        EXPECT_GE(nccl.made.size(), 3u);
        const std::lock_guard lock{mutex};
        for (const auto& state : nccl.made) {
            ids[{state->of.id, state->of.ranks}].push_back(state->id);
        }
    });
    std::set<NcclUniqueId> different;
    for (const auto& [key, of] : ids) {
        EXPECT_EQ(of.size(), key.second.size());
        EXPECT_EQ(std::set<NcclUniqueId>(of.begin(), of.end()).size(), 1u);
        different.insert(of.front());
    }
    EXPECT_EQ(different.size(), ids.size());
}

// Answers every message at once, and writes down what was asked for. An id that comes is not zero.
class WritesDown final : public Transport {
public:
    struct Line {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        std::uint64_t tag = 0;
        bool operator==(const Line&) const = default;
    };
    explicit WritesDown(std::uint32_t rank, std::uint32_t ranks) : rank_(rank), ranks_(ranks) {}
    std::uint32_t rank() const override { return rank_; }
    std::uint32_t num_ranks() const override { return ranks_; }
    Result<void> exchange(std::span<const Message> messages) override {
        for (const Message& m : messages) {
            if (m.is_send) {
                sent.push_back({rank_, m.peer, m.tag});
            } else {
                expected.push_back({m.peer, rank_, m.tag});
                m.bytes.front() = std::byte{1};
            }
        }
        return {};
    }
    Result<void> post_send(const Message&) override { return {}; }
    Result<void> flush() override { return {}; }

    std::vector<Line> sent;
    std::vector<Line> expected;

private:
    std::uint32_t rank_;
    std::uint32_t ranks_;
};

// What each rank sends to another while communicators are made.
void expect_matching_tags(const Program& program, const std::string& what) {
    const std::uint32_t ranks = program.num_ranks();
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> sent;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> expected;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        FakeNccl nccl;
        WritesDown transport{r, ranks};
        const auto created = NcclCommunicators::create(
            nccl, nccl_communicators(program, static_cast<RankId>(r)), transport, Patience{});
        ASSERT_TRUE(created) << created.error().to_string();
        for (const auto& line : transport.sent) {
            sent[{line.from, line.to}].push_back(line.tag);
        }
        for (const auto& line : transport.expected) {
            expected[{line.from, line.to}].push_back(line.tag);
        }
    }
    EXPECT_EQ(sent, expected) << what;
}

ParallelPlan tied_stages(std::int64_t stages) {
    ParallelPlan plan = tiny_plan();
    plan.pipeline_model_parallel_size = stages;
    plan.micro_batch_size = 1;
    return plan;
}

Transformer of_layers(std::int64_t layers) {
    Transformer model = tiny_gpt();
    model.num_layers = layers;
    return model;
}

// The first and the last stage share the tied embedding, and are in a communicator more than those
// between them. No tag may depend on a count that differs from rank to rank: every message meets
// the receive that is meant, in the order of both ranks.
TEST(NcclCommunicators, NoTagDependsOnARankLocalCount) {
    for (const std::int64_t stages : {2, 3, 4}) {
        expect_matching_tags(lower(of_layers(stages), tied_stages(stages)),
                             "pp " + std::to_string(stages));
    }
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        expect_matching_tags(lower(d.model, d.plan), d.text());
    }
}

// All members of a communicator have it, with the same members, in the same order as all others
// that they share: no rank waits for one that is busy with a later communicator.
TEST(NcclCommunicators, AreInTheSameOrderOnEveryRank) {
    int shared = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        std::vector<std::vector<NcclMembers>> all;
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            all.push_back(nccl_communicators(program, static_cast<RankId>(r)));
        }
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            for (std::size_t i = 0; i < all[r].size(); ++i) {
                const NcclMembers& of = all[r][i];
                ASSERT_EQ(of.ranks[of.position], r);
                EXPECT_TRUE(i == 0 || std::pair(all[r][i - 1].id, all[r][i - 1].mover) <
                                          std::pair(of.id, of.mover));
                for (std::uint32_t p = 0; p < of.ranks.size(); ++p) {
                    NcclMembers theirs = of;
                    theirs.position = p;
                    EXPECT_EQ(std::ranges::count(all[of.ranks[p]], theirs), 1) << d.text();
                    ++shared;
                }
            }
        }
    }
    EXPECT_GT(shared, 500);
}

}  // namespace
}  // namespace orrery
