// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/faulty_transport.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace orrery {
namespace {

class FaultyTransport final : public Transport {
public:
    FaultyTransport(std::unique_ptr<Transport> transport, InjectedFault fault)
        : transport_(std::move(transport)), fault_(fault) {}

    std::uint32_t rank() const override { return transport_->rank(); }
    std::uint32_t num_ranks() const override { return transport_->num_ranks(); }

    Result<void> exchange(std::span<const Message> messages) override {
        if (exchanges_++ == fault_.exchange) {
            switch (fault_.kind) {
                case InjectedFault::Kind::none:
                    break;
                case InjectedFault::Kind::delay:
                    std::this_thread::sleep_for(fault_.delay);
                    break;
                case InjectedFault::Kind::fail:
                    return orrery::fail("injected fault", "this exchange fails");
                case InjectedFault::Kind::die:
                    kill(getpid(), SIGKILL);
                    break;
            }
        }
        return transport_->exchange(messages);
    }
    Result<void> post_send(const Message& message) override {
        return transport_->post_send(message);
    }
    Result<void> flush() override { return transport_->flush(); }

private:
    std::unique_ptr<Transport> transport_;
    InjectedFault fault_;
    std::atomic<std::uint64_t> exchanges_ = 0;
};

}  // namespace

std::unique_ptr<Transport> with_fault(std::unique_ptr<Transport> transport, InjectedFault fault) {
    return std::make_unique<FaultyTransport>(std::move(transport), fault);
}

}  // namespace orrery
