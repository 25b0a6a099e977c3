// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/fibers.h"

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "engine/base/check.h"
#include "tests/kernels/emulation/emulated_block.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace orrery::emulation {
namespace {

constexpr std::size_t kFibersOfWarp = device::kWarp;
constexpr std::size_t kStackBytes = 256 * 1024;

// Tells the thread sanitizer which stack runs; nothing without it.
#ifdef __SANITIZE_THREAD__
void* new_sanitizer_fiber() {
    return __tsan_create_fiber(0);
}
void* this_sanitizer_fiber() {
    return __tsan_get_current_fiber();
}
void switch_sanitizer(void* fiber) {
    __tsan_switch_to_fiber(fiber, 0);
}
void end_sanitizer_fiber(void* fiber) {
    __tsan_destroy_fiber(fiber);
}
#else
void* new_sanitizer_fiber() {
    return nullptr;
}
void* this_sanitizer_fiber() {
    return nullptr;
}
void switch_sanitizer(void*) {}
void end_sanitizer_fiber(void*) {}
#endif

struct Fiber {
    ucontext_t context{};
    const std::uint64_t* counter = nullptr;  // waits while *counter == before
    std::uint64_t before = 0;
    bool done = false;
    void* sanitizer = nullptr;
    bool can_run() const { return !done && (counter == nullptr || *counter != before); }
};

struct Scheduler {
    ucontext_t context{};
    std::vector<Fiber> fibers;
    std::size_t running = 0;
    void* sanitizer = nullptr;
    const std::function<void(int)>* code = nullptr;
};
thread_local Scheduler* scheduler = nullptr;  // ranks of a test are threads

void back_to_scheduler(Fiber& fiber) {
    switch_sanitizer(scheduler->sanitizer);
    ORRERY_CHECK(swapcontext(&fiber.context, &scheduler->context) == 0);
}

void fiber_main() {
    const std::size_t own = scheduler->running;
    (*scheduler->code)(static_cast<int>(own));
    scheduler->fibers[own].done = true;
    back_to_scheduler(scheduler->fibers[own]);
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
    ORRERY_CHECK(getcontext(&fiber.context) == 0);
    fiber.context.uc_stack.ss_sp = stack;
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, fiber_main, 0);
    fiber.sanitizer = new_sanitizer_fiber();
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
            switch_sanitizer(fiber.sanitizer);
            ORRERY_CHECK(swapcontext(&own.context, &fiber.context) == 0);
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
    own.sanitizer = this_sanitizer_fiber();
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
    for (const Fiber& fiber : own.fibers) {
        end_sanitizer_fiber(fiber.sanitizer);
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
