// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/faulty_transport.h"

#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

TEST(FaultyTransport, FailsAtTheExchangeItIsToldTo) {
    run_as_ranks(1, [](std::unique_ptr<Transport> transport) {
        auto faulty =
            with_fault(std::move(transport), {.kind = InjectedFault::Kind::fail, .exchange = 1});
        EXPECT_TRUE(faulty->exchange({}));
        EXPECT_FALSE(faulty->exchange({}));
        EXPECT_TRUE(faulty->exchange({}));
    });
}

TEST(FaultyTransport, DelaysButDelivers) {
    using std::chrono::milliseconds;
    run_as_ranks(2, [](std::unique_ptr<Transport> transport) {
        const bool sends = transport->rank() == 1;
        auto faulty =
            with_fault(std::move(transport),
                       {.kind = sends ? InjectedFault::Kind::delay : InjectedFault::Kind::none,
                        .exchange = 0,
                        .delay = milliseconds{50}});
        std::byte byte{static_cast<unsigned char>(sends ? 42 : 0)};
        const Message message{
            .is_send = sends, .peer = sends ? 0u : 1u, .tag = 1, .bytes = {&byte, 1}};
        const auto begin = std::chrono::steady_clock::now();
        ASSERT_TRUE(faulty->exchange({&message, 1}));
        EXPECT_EQ(std::to_integer<int>(byte), 42);
        if (sends) {
            EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds{50});
        }
    });
}

TEST(FaultyTransport, DeathEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(run_as_ranks(1,
                             [](std::unique_ptr<Transport> transport) {
                                 auto faulty = with_fault(std::move(transport),
                                                          {.kind = InjectedFault::Kind::die});
                                 [[maybe_unused]] const auto done = faulty->exchange({});
                             }),
                testing::KilledBySignal(SIGKILL),
                "");
}

}  // namespace
}  // namespace orrery
