// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/fibers.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "engine/base/check.h"
#include "tests/kernels/emulation/emulated_block.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#elif defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace orrery::emulation {
namespace {

constexpr std::size_t kFibersOfWarp = device::kWarp;
constexpr std::size_t kStackBytes = 256 * 1024;

// Which stack runs, for the sanitizer of threads or that of addresses; nothing without them.
#if defined(__SANITIZE_THREAD__)
class SanitizedStack {
public:
    void begin(std::byte*) { fiber_ = __tsan_create_fiber(0); }
    void begin_on_this_thread() { fiber_ = __tsan_get_current_fiber(); }
    void leave_for(SanitizedStack& next) { __tsan_switch_to_fiber(next.fiber_, 0); }
    void leave_for_good(SanitizedStack& next) { leave_for(next); }
    void arrive(SanitizedStack&) {}
    void end() { __tsan_destroy_fiber(fiber_); }

private:
    void* fiber_ = nullptr;
};
#elif defined(__SANITIZE_ADDRESS__)
class SanitizedStack {
public:
    void begin(std::byte* stack) {
        bottom_ = stack;
        bytes_ = kStackBytes;
    }
    void begin_on_this_thread() {}  // its bounds are known when a fiber comes from it
    void leave_for(SanitizedStack& next) {
        __sanitizer_start_switch_fiber(&frames_, next.bottom_, next.bytes_);
    }
    void leave_for_good(SanitizedStack& next) {
        __sanitizer_start_switch_fiber(nullptr, next.bottom_, next.bytes_);
    }
    void arrive(SanitizedStack& from) {
        __sanitizer_finish_switch_fiber(frames_, &from.bottom_, &from.bytes_);
    }
    void end() {}

private:
    void* frames_ = nullptr;
    const void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
};
#else
class SanitizedStack {
public:
    void begin(std::byte*) {}
    void begin_on_this_thread() {}
    void leave_for(SanitizedStack&) {}
    void leave_for_good(SanitizedStack&) {}
    void arrive(SanitizedStack&) {}
    void end() {}
};
#endif

// Memory that outlives the fiber.
struct KeptStack {
    void deallocate(boost::context::stack_context&) {}
};

struct Fiber {
    boost::context::fiber context;
    const std::uint64_t* counter = nullptr;  // waits while *counter == before
    std::uint64_t before = 0;
    bool done = false;
    SanitizedStack stack;
    bool can_run() const { return !done && (counter == nullptr || *counter != before); }
};

struct Scheduler {
    boost::context::fiber context;
    std::vector<Fiber> fibers;
    std::size_t running = 0;
    SanitizedStack stack;
    const std::function<void(int)>* code = nullptr;
};
thread_local Scheduler* scheduler = nullptr;  // ranks of a test are threads

void back_to_scheduler(Fiber& fiber) {
    fiber.stack.leave_for(scheduler->stack);
    scheduler->context = std::move(scheduler->context).resume();
    fiber.stack.arrive(scheduler->stack);
}

boost::context::fiber fiber_main(boost::context::fiber&& caller) {
    const std::size_t own = scheduler->running;
    Fiber& fiber = scheduler->fibers[own];
    fiber.stack.arrive(scheduler->stack);
    scheduler->context = std::move(caller);
    (*scheduler->code)(static_cast<int>(own));
    fiber.done = true;
    fiber.stack.leave_for_good(scheduler->stack);
    return std::move(scheduler->context);
}

// Stacks are kept from block to block.
std::byte* stack_of(std::size_t fiber) {
    static thread_local std::vector<std::unique_ptr<std::byte[]>> stacks;
    while (stacks.size() <= fiber) {
        stacks.emplace_back(new std::byte[kStackBytes]);
    }
    return stacks[fiber].get();
}

void prepare(Fiber& fiber, std::byte* stack) {
    boost::context::stack_context memory;
    memory.sp = stack + kStackBytes;  // a stack grows downwards
    memory.size = kStackBytes;
    const boost::context::preallocated whole{memory.sp, memory.size, memory};
    fiber.context = boost::context::fiber{std::allocator_arg, whole, KeptStack{}, fiber_main};
    fiber.stack.begin(stack);
}

std::vector<std::size_t> turns(std::size_t count, ThreadOrder order) {
    std::vector<std::size_t> turn(count);
    std::iota(turn.begin(), turn.end(), std::size_t{0});
    if (order == ThreadOrder::descending) {
        std::reverse(turn.begin(), turn.end());
    } else if (order == ThreadOrder::shuffled) {
        std::mt19937_64 random{count};
        for (std::size_t i = count; i > 1; --i) {
            std::swap(turn[i - 1], turn[random() % i]);
        }
    }
    return turn;
}

// Lets the fibers from `first` on that can run do so until each waits. How many did.
std::size_t run_once(Scheduler& own, std::size_t first, const std::vector<std::size_t>& lanes) {
    std::size_t ran = 0;
    for (const std::size_t lane : lanes) {
        Fiber& fiber = own.fibers[first + lane];
        if (fiber.can_run()) {
            own.running = first + lane;
            own.stack.leave_for(fiber.stack);
            fiber.context = std::move(fiber.context).resume();
            own.stack.arrive(fiber.stack);
            ++ran;
        }
    }
    return ran;
}

}  // namespace

void run_fibers(int count, ThreadOrder order, const std::function<void(int)>& code) {
    ORRERY_CHECK(scheduler == nullptr && count % static_cast<int>(kFibersOfWarp) == 0);
    Scheduler own;
    own.fibers.resize(static_cast<std::size_t>(count));
    own.stack.begin_on_this_thread();
    own.code = &code;
    scheduler = &own;
    for (std::size_t i = 0; i < own.fibers.size(); ++i) {
        prepare(own.fibers[i], stack_of(i));
    }
    const std::vector<std::size_t> lanes = turns(kFibersOfWarp, order);
    const std::vector<std::size_t> warps = turns(own.fibers.size() / kFibersOfWarp, order);
    for (std::size_t left = own.fibers.size(); left > 0;) {
        std::size_t moved = 0;
        for (const std::size_t warp : warps) {
            while (const std::size_t ran = run_once(own, warp * kFibersOfWarp, lanes)) {
                moved += ran;
            }
        }
        ORRERY_CHECK(moved > 0);  // else all wait for ever: a barrier that not every thread reaches
        left = static_cast<std::size_t>(std::count_if(
            own.fibers.begin(), own.fibers.end(), [](const Fiber& fiber) { return !fiber.done; }));
    }
    for (Fiber& fiber : own.fibers) {
        fiber.stack.end();
    }
    scheduler = nullptr;
}

void wait_until_changed(const std::uint64_t& counter, std::uint64_t before) {
    Fiber& fiber = scheduler->fibers[scheduler->running];
    fiber.counter = &counter;
    fiber.before = before;
    back_to_scheduler(fiber);
    fiber.counter = nullptr;
}

}  // namespace orrery::emulation
