// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/member.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace orrery {
namespace {

// The supervisor's ends of the pipes of a member in this process.
class Pipes {
public:
    Pipes() {
        EXPECT_EQ(pipe(orders_), 0);
        EXPECT_EQ(pipe(reports_), 0);
        setenv(kMemberVariable,
               (std::to_string(orders_[0]) + "," + std::to_string(reports_[1])).c_str(),
               1);
        setenv(kNodeVariable, "3", 1);
    }
    ~Pipes() {
        unsetenv(kMemberVariable);
        unsetenv(kNodeVariable);
        for (const int end : {orders_[0], orders_[1], reports_[0], reports_[1]}) {
            close(end);
        }
    }
    void order(const Order& order) const {
        const std::string line = to_line(order) + "\n";
        ASSERT_EQ(write(orders_[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
    // The next report of this kind.
    MemberReport report(ReportKind kind) {
        for (;;) {
            const std::size_t end = text_.find('\n');
            if (end == std::string::npos) {
                char bytes[4096];
                const ssize_t count = read(reports_[0], bytes, sizeof bytes);
                text_.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
                continue;
            }
            const auto found = parse_report(text_.substr(0, end));
            text_.erase(0, end + 1);
            if (found && found->kind == kind) {
                return *found;
            }
        }
    }

private:
    int orders_[2] = {};
    int reports_[2] = {};
    std::string text_;
};

TEST(Member, TakesOrdersInTurnAndReportsOfItsGeneration) {
    Pipes pipes;
    EXPECT_TRUE(Member::is_one());
    auto member = Member::join();
    ASSERT_TRUE(member);
    EXPECT_EQ((*member)->node(), 3u);
    pipes.order({.kind = OrderKind::go, .generation = 5, .rank = 1});
    EXPECT_EQ((*member)->next_order().rank, 1u);
    EXPECT_EQ(pipes.report(ReportKind::ready).generation, 0u);
    (*member)->tell(ReportKind::step, 12, 345);
    const MemberReport step = pipes.report(ReportKind::step);
    EXPECT_EQ(step.generation, 5u);
    EXPECT_EQ(step.number, 345);
    // Signs of life come without being asked for, and tell the step.
    EXPECT_EQ(pipes.report(ReportKind::beat).step, 12);
    EXPECT_FALSE((*member)->wants_to_leave());
    pipes.order({.kind = OrderKind::leave, .generation = 5});
    for (int turn = 0; turn < 100 && !(*member)->wants_to_leave(); ++turn) {
        usleep(20'000);
    }
    EXPECT_TRUE((*member)->wants_to_leave());
    pipes.order({.kind = OrderKind::go, .generation = 6});
    EXPECT_EQ((*member)->next_order().generation, 6u);
    EXPECT_FALSE((*member)->wants_to_leave());  // that was another training
}

class Slow final : public Transport {
public:
    std::uint32_t rank() const override { return 0; }
    std::uint32_t num_ranks() const override { return 4; }
    Result<void> exchange(std::span<const Message>) override {
        usleep(300'000);
        return {};
    }
    Result<void> post_send(const Message&) override { return {}; }
    Result<void> flush() override { return {}; }
};

TEST(Member, TellsForWhomItWaits) {
    Pipes pipes;
    auto member = Member::join();
    ASSERT_TRUE(member);
    const auto transport = (*member)->watch(std::make_unique<Slow>());
    (*member)->describe_by([] { return std::string{"a sum on dp"}; });
    const std::vector<Message> messages{{.is_send = false, .peer = 2, .tag = 9, .bytes = {}},
                                        {.is_send = false, .peer = 66, .tag = 9, .bytes = {}}};
    ASSERT_TRUE(transport->exchange(messages));
    EXPECT_GE((*member)->waited(), std::chrono::milliseconds{300});
    MemberReport beat = pipes.report(ReportKind::beat);
    while (beat.number == 0) {
        beat = pipes.report(ReportKind::beat);
    }
    EXPECT_EQ(beat.text, "9 2,66 a sum on dp");  // the tag, and the ranks as they are
}

TEST(Member, OutsideOfASupervisorItIsNone) {
    EXPECT_FALSE(Member::is_one());
    EXPECT_FALSE(Member::join());
    setenv(kMemberVariable, "1;2", 1);
    EXPECT_FALSE(Member::join());
    unsetenv(kMemberVariable);
}

}  // namespace
}  // namespace orrery
